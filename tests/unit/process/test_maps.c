// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/unit/test_proc_child.h"
#include "user/process/maps.h"

static struct maps *parse(const char *text)
{
	struct maps *maps = NULL;

	assert_int_equal(maps_parse(text, strlen(text), &maps), 0);
	return maps;
}

static void test_fields(void **state)
{
	struct maps *maps = parse(
		"55e1c0000000-55e1c0002000 r--p 00000000 fd:01 1835088                    "
		"/usr/bin/a b\n"
		"55e1c0002000-55e1c0007000 r-xs 00002000 103:0a 42 /x (deleted)\n"
		"7ffc0b000000-7ffc0b021000 rw-p 00000000 00:00 0                          [stack]\n"
		"7ffc0b022000-7ffc0b023000 ---p 00000000 00:00 0 \n"
		"7ffc0b024000-7ffc0b025000 ---p 00000000 00:00 0\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]");
	const struct mapping *m = maps_at(maps, 0);

	(void)state;
	assert_int_equal(maps_count(maps), 6);
	assert_int_equal(m->start, 0x55e1c0000000);
	assert_int_equal(m->end, 0x55e1c0002000);
	assert_true(m->read && !m->write && !m->exec && !m->shared && !m->deleted);
	assert_int_equal(m->dev, makedev(0xfd, 1));
	assert_int_equal(m->ino, 1835088);
	assert_string_equal(m->path, "/usr/bin/a b");
	m = maps_at(maps, 1);
	assert_true(m->read && m->exec && m->shared && m->deleted);
	assert_int_equal(m->offset, 0x2000);
	assert_int_equal(m->dev, makedev(0x103, 10));
	assert_int_equal(m->ino, 42);
	assert_string_equal(m->path, "/x");
	assert_string_equal(maps_at(maps, 2)->path, "[stack]");
	assert_string_equal(maps_at(maps, 3)->path, "");
	assert_string_equal(maps_at(maps, 4)->path, "");
	assert_int_equal(maps_at(maps, 5)->end, 0xffffffffff601000);
	assert_null(maps_at(maps, 6));
	maps_free(maps);
}

static void test_newline_in_path(void **state)
{
	struct maps *maps = parse("1000-2000 r-xp 00000000 fd:01 7 /a\\012b\\01 (deleted)\n");

	(void)state;
	assert_string_equal(maps_at(maps, 0)->path, "/a\nb\\01");
	assert_true(maps_at(maps, 0)->deleted);
	maps_free(maps);
}

static void test_garbage_is_skipped(void **state)
{
	struct maps *maps = parse("\n\nhello\n1000-\n1000-2000\n1000-2000 r\n1000-2000 r-xp\n"
				  "2000-1000 r-xp 0 0:0 0 /backwards\n"
				  "11112222333344445-2000 r-xp 0 0:0 0 /too-large\n"
				  "1000-2000 r-xp 0 0:0\n"
				  "1000-2000 r-xp 0 0:0 \n"
				  "1000-2000 r-xp 0 0:0 x\n"
				  "1000-2000 r-xp 0 0:0 5x\n"
				  "3000-4000 r-xp 0 0:0 9 /good\n");

	(void)state;
	assert_int_equal(maps_count(maps), 1);
	assert_string_equal(maps_at(maps, 0)->path, "/good");
	maps_free(maps);
	maps = parse("");
	assert_int_equal(maps_count(maps), 0);
	assert_null(maps_find(maps, 0x1000));
	maps_free(maps);
}

static void test_find(void **state)
{
	struct maps *maps = parse("3000-4000 r-xp 0 0:0 0 /b\n1000-2000 r-xp 0 0:0 0 /a\n"
				  "4000-5000 r-xp 0 0:0 0 /c\n");

	(void)state;
	assert_null(maps_find(maps, 0xfff));
	assert_string_equal(maps_find(maps, 0x1000)->path, "/a");
	assert_string_equal(maps_find(maps, 0x1fff)->path, "/a");
	assert_null(maps_find(maps, 0x2000));
	assert_string_equal(maps_find(maps, 0x3fff)->path, "/b");
	assert_string_equal(maps_find(maps, 0x4000)->path, "/c");
	assert_null(maps_find(maps, 0x5000));
	maps_free(maps);
}

static void test_own_maps(void **state)
{
	struct maps *maps;
	const struct mapping *m;
	struct stat st;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uint64_t)(uintptr_t)test_own_maps);
	assert_non_null(m);
	assert_true(m->exec && m->read && !m->write);
	assert_int_equal(stat(m->path, &st), 0);
	assert_int_equal(m->ino, st.st_ino);
	maps_free(maps);
}

static int map_many(void *arg, int number)
{
	(void)number;
	/* Every second page has another protection: that many lines. */
	for (int i = 0; i < *(int *)arg; i++) {
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return 1;
	}
	return 0;
}

static void test_many_mappings(void **state)
{
	int count = 20000;
	struct child child = child_start(map_many, &count);
	struct maps *maps;

	(void)state;
	assert_int_equal(maps_read(child.pid, &maps), 0);
	assert_true(maps_count(maps) > (size_t)count);
	for (size_t i = 1; i < maps_count(maps); i++)
		assert_true(maps_at(maps, i - 1)->end <= maps_at(maps, i)->start);
	maps_free(maps);
	child_end(&child);
}

static void test_gone(void **state)
{
	pid_t zombie = child_zombie();
	struct maps *maps;

	(void)state;
	assert_int_equal(maps_read(zombie, &maps), -ESRCH);
	waitpid(zombie, NULL, 0);
	assert_int_equal(maps_read(zombie, &maps), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_newline_in_path),
		cmocka_unit_test(test_garbage_is_skipped),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_own_maps),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
