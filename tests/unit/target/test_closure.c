// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "tests/unit/test_proc_child.h"
#include "user/base/util.h"
#include "user/process/maps.h"
#include "user/target/closure.h"

static char directory[32];

static int make_tmp(void **state)
{
	(void)state;
	make_directory(directory);
	return 0;
}

static int remove_tmp(void **state)
{
	(void)state;
	run_tool("rm -r %s", directory);
	return 0;
}

static char *in_tmp(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", directory, name);
	return p;
}

static void write_script(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* The same file, whatever the names. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool contains(const struct closure *closure, const char *path)
{
	for (size_t i = 0; i < closure->count; i++) {
		if (same_file(closure->paths[i], path))
			return true;
	}
	return false;
}

static struct closure *find(const char *command)
{
	struct closure *closure = NULL;

	assert_int_equal(closure_find(command, &closure), 0);
	assert_null(closure->paths[closure->count]);
	return closure;
}

/* Every file that the running program maps executable was foretold. */
static void check_against_process(const struct closure *closure, pid_t pid)
{
	struct maps *maps;
	size_t files = 0;

	assert_int_equal(maps_read(pid, &maps), 0);
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (!m->exec || m->path[0] != '/')
			continue;
		files++;
		if (!contains(closure, m->path))
			fail_msg("%s is missing", m->path);
	}
	assert_true(files > 0);
	maps_free(maps);
}

static void test_command_in_path(void **state)
{
	struct closure *closure = find("cat");
	struct child child = child_exec(closure->command, (char *[]){"cat", NULL}, environ);

	(void)state;
	assert_string_equal(strrchr(closure->command, '/'), "/cat");
	assert_string_equal(closure->paths[0], closure->command);
	assert_true(closure->count >= 3); /* itself, the loader, libc */
	check_against_process(closure, child.pid);
	child_end(&child);
	closure_free(closure);
	closure_free(NULL);
}

static void test_preload(void **state)
{
	const char *library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
	struct closure *closure;
	struct child child;

	(void)state;
	need_file(library);
	setenv("LD_PRELOAD", library, 1);
	closure = find("/bin/cat");
	child = child_exec("/bin/cat", (char *[]){"cat", NULL}, environ);
	unsetenv("LD_PRELOAD");
	assert_true(contains(closure, library));
	check_against_process(closure, child.pid);
	child_end(&child);
	closure_free(closure);
	closure = find("/bin/cat");
	assert_false(contains(closure, library));
	closure_free(closure);
}

static void test_scripts(void **state)
{
	char first_line[160];
	struct closure *closure;

	(void)state;
	write_script(in_tmp("inner"), "#! /bin/cat  an argument\n", 0755);
	snprintf(first_line, sizeof(first_line), "#!%s\n", in_tmp("inner"));
	write_script(in_tmp("outer"), first_line, 0755);
	closure = find(in_tmp("outer"));
	assert_string_equal(closure->command, in_tmp("outer"));
	assert_string_equal(closure->paths[0], "/bin/cat");
	assert_true(closure->count >= 3);
	closure_free(closure);
}

static void test_library_path_with_blanks(void **state)
{
	char path[64];
	struct closure *closure;

	(void)state;
	need_tool("gcc");
	assert_int_equal(mkdir(in_tmp("a b (0x1)"), 0700), 0);
	run_tool("cd '%s' && echo 'int f(void) { return 0; }' | gcc -shared -fPIC -x c - -o 'a b "
		 "(0x1)/libf.so'",
		 directory);
	run_tool("cd '%s' && echo 'int f(void); int main(void) { return f(); }' | gcc -x c - -o "
		 "prog -x none 'a b (0x1)/libf.so'",
		 directory);
	assert_non_null(getcwd(path, sizeof(path)));
	assert_int_equal(chdir(directory), 0);
	closure = find("./prog");
	assert_true(contains(closure, in_tmp("a b (0x1)/libf.so")));
	closure_free(closure);
	assert_int_equal(chdir(path), 0);
}

static void test_musl_and_static(void **state)
{
	struct closure *closure;

	(void)state;
	need_tool("musl-gcc");
	run_tool("echo 'int main(void) { return 0; }' | musl-gcc -x c - -o %s", in_tmp("musl"));
	run_tool("echo 'int main(void) { return 0; }' | gcc -static -x c - -o %s",
		 in_tmp("static"));
	closure = find(in_tmp("musl"));
	assert_int_equal(closure->count, 2);
	assert_string_equal(closure->paths[0], in_tmp("musl"));
	assert_string_equal(closure->paths[1], "/lib/ld-musl-x86_64.so.1");
	closure_free(closure);
	closure = find(in_tmp("static"));
	assert_int_equal(closure->count, 1);
	assert_string_equal(closure->paths[0], in_tmp("static"));
	closure_free(closure);
}

static void test_path_search(void **state)
{
	const char *saved = getenv("PATH");
	_cleanup_free_ char *path = NULL, *old = strdup(saved ?: "");
	struct closure *closure;

	(void)state;
	/*
	 * As execvp: one that may not be run is passed over, and is the answer if there is no
	 * other.
	 */
	assert_int_equal(mkdir(in_tmp("one"), 0700), 0);
	assert_int_equal(mkdir(in_tmp("two"), 0700), 0);
	write_script(in_tmp("one/tool"), "#!/bin/cat\n", 0644);
	write_script(in_tmp("one/lonely"), "#!/bin/cat\n", 0644);
	write_script(in_tmp("two/tool"), "#!/bin/cat\n", 0755);
	assert_true(asprintf(&path, "/nowhere:%s:%s", in_tmp("one"), in_tmp("two")) > 0);
	setenv("PATH", path, 1);
	closure = find("tool");
	assert_string_equal(closure->command, in_tmp("two/tool"));
	closure_free(closure);
	assert_int_equal(closure_find("lonely", &closure), -EACCES);
	assert_int_equal(closure_find("no-such-tool", &closure), -ENOENT);
	unsetenv("PATH");
	closure = find("cat");
	assert_string_equal(closure->command, "/bin/cat");
	closure_free(closure);
	setenv("PATH", old, 1);
}

static void test_errors(void **state)
{
	struct closure *closure;

	(void)state;
	assert_int_equal(closure_find("", &closure), -ENOENT);
	assert_int_equal(closure_find("/nowhere/x", &closure), -ENOENT);
	assert_int_equal(closure_find("/etc", &closure), -EACCES);
	assert_int_equal(closure_find("/etc/passwd", &closure), -EACCES);
	write_script(in_tmp("text"), "hello\n", 0755);
	assert_int_equal(closure_find(in_tmp("text"), &closure), -ENOEXEC);
	write_script(in_tmp("bare"), "#!\n", 0755);
	assert_int_equal(closure_find(in_tmp("bare"), &closure), -ENOEXEC);
	write_script(in_tmp("lost"), "#!/nowhere/interpreter\n", 0755);
	assert_int_equal(closure_find(in_tmp("lost"), &closure), -ENOENT);
	write_script(in_tmp("elf"), "\177ELF\1\1\1 and no more", 0755);
	assert_int_equal(closure_find(in_tmp("elf"), &closure), -ENOEXEC);
}

static void test_script_loop(void **state)
{
	char line[160];
	struct closure *closure;

	(void)state;
	snprintf(line, sizeof(line), "#!%s\n", in_tmp("loop"));
	write_script(in_tmp("loop"), line, 0755);
	assert_int_equal(closure_find(in_tmp("loop"), &closure), -ELOOP);
}

/* A loader that cannot tell: its own name and the program are what is known. */
static void test_silent_loader(void **state)
{
	struct closure *closure;

	(void)state;
	need_tool("gcc");
	write_script(in_tmp("loader"), "#!/bin/sh\nexit 3\n", 0755);
	run_tool("echo 'int main(void) { return 0; }' | gcc -x c - -o %s -Wl,--dynamic-linker=%s",
		 in_tmp("odd"), in_tmp("loader"));
	closure = find(in_tmp("odd"));
	assert_int_equal(closure->count, 2);
	assert_string_equal(closure->paths[1], in_tmp("loader"));
	closure_free(closure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_in_path),
		cmocka_unit_test(test_preload),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_library_path_with_blanks),
		cmocka_unit_test(test_musl_and_static),
		cmocka_unit_test(test_path_search),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_script_loop),
		cmocka_unit_test(test_silent_loader),
	};

	return cmocka_run_group_tests(tests, make_tmp, remove_tmp);
}
