// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file of a name of our own: never through a link that somebody has put there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/kernel/caller_file.h"

static void test_new_file_follows_no_link(void **state)
{
	char directory[] = "/tmp/caller_file.XXXXXX", cwd[4096];
	struct stat st;
	FILE *file;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(symlink("elsewhere", "name"), 0);
	assert_null(caller_file_create_new("name", false));
	assert_int_equal(errno, EEXIST);
	assert_int_equal(lstat("elsewhere", &st), -1);
	assert_int_equal(unlink("name"), 0);
	file = caller_file_create_new("name", false);
	assert_non_null(file);
	fclose(file);
	assert_null(caller_file_create_new("name", false));
	assert_int_equal(unlink("name"), 0);
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_file_follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
