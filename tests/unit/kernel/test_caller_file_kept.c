// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a file held is kept beside it, and put back; whatever others do in the same directory meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/kernel/caller_file.h"

#define STRANGER 65534

static char directory[] = "/tmp/caller_file_kept.XXXXXX";

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(name, mode), 0);
}

static void holds(const char *name, const char *text, mode_t mode)
{
	char found[64] = "";
	struct stat st;
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	(void)!fgets(found, sizeof(found), file);
	fclose(file);
	assert_string_equal(found, text);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, mode);
}

static int fresh(void **state)
{
	(void)state;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return !mkdtemp(directory) || chmod(directory, 01777) || chdir(directory);
}

static int gone(void **state)
{
	static const char *const names[] = {"file", "file.old", "other", "other.old"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(directory);
}

static void nothing_was_there_before(void **state)
{
	struct caller_file_kept *kept;
	FILE *file;

	(void)state;
	put("file", "first", 0600);
	kept = caller_file_keep("file");
	assert_non_null(kept);
	file = caller_file_create("file", false, kept);
	assert_non_null(file);
	holds("file", "", 0600);
	holds("file.old", "first", 0600);
	caller_file_put_back("file", kept, file);
	fclose(file);
	caller_file_kept_free(kept);
	holds("file", "first", 0600);
	assert_int_equal(access("file.old", F_OK), -1);
}

static void both_are_put_back_as_they_were(void **state)
{
	struct caller_file_kept *kept;
	FILE *file;

	(void)state;
	put("file", "second", 0600);
	put("file.old", "first", 0644);
	kept = caller_file_keep("file");
	assert_non_null(kept);
	file = caller_file_create("file", false, kept);
	assert_non_null(file);
	holds("file", "first", 0600);
	caller_file_put_back("file", kept, file);
	fclose(file);
	caller_file_kept_free(kept);
	holds("file", "second", 0600);
	holds("file.old", "first", 0644);
}

static void it_comes_back_when_none_was_made(void **state)
{
	struct caller_file_kept *kept;

	(void)state;
	put("file", "first", 0640);
	kept = caller_file_keep("file");
	assert_non_null(kept);
	caller_file_put_back("file", kept, NULL);
	caller_file_kept_free(kept);
	holds("file", "first", 0640);
	assert_int_equal(access("file.old", F_OK), -1);
}

static void what_could_not_be_put_back_stays(void **state)
{
	(void)state;
	put("file", "second", 0600);
	put("file.old", "first", 0644);
	assert_int_equal(link("file.old", "other"), 0);
	assert_null(caller_file_keep("file"));
	holds("file", "second", 0600);
	holds("file.old", "first", 0644);
	unlink("file.old");
	assert_int_equal(symlink("other", "file.old"), 0);
	assert_null(caller_file_keep("file"));
	holds("file", "second", 0600);
	holds("file.old", "first", 0644);
}

/* Somebody has put a link where the file was: neither it nor what it leads to is touched. */
static void a_link_that_came_is_nobodys_to_rename(void **state)
{
	struct caller_file_kept *kept;
	char to[8] = "";

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	put("file", "first", 0600);
	put("other", "theirs", 0644);
	put("other.old", "theirs of old", 0644);
	kept = caller_file_keep("file");
	assert_non_null(kept);
	assert_int_equal(symlink("other", "file"), 0);
	assert_int_equal(lchown("file", STRANGER, STRANGER), 0);
	assert_null(caller_file_create("file", false, kept));
	assert_int_equal(errno, EACCES);
	caller_file_put_back("file", kept, NULL);
	caller_file_kept_free(kept);
	holds("other", "theirs", 0644);
	holds("other.old", "theirs of old", 0644);
	holds("file.old", "first", 0600);
	assert_int_equal(readlink("file", to, sizeof(to) - 1), 5);
	assert_string_equal(to, "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_was_there_before, fresh, gone),
		cmocka_unit_test_setup_teardown(both_are_put_back_as_they_were, fresh, gone),
		cmocka_unit_test_setup_teardown(it_comes_back_when_none_was_made, fresh, gone),
		cmocka_unit_test_setup_teardown(what_could_not_be_put_back_stays, fresh, gone),
		cmocka_unit_test_setup_teardown(a_link_that_came_is_nobodys_to_rename, fresh, gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
