// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose limit made the kernel kill, by files as versions 2 and 1 have them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "user/process/cgroup_ooms.h"

static char mount[] = "/tmp/cgroup-ooms-XXXXXX";

static void put(const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", mount, file);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void put_events(const char *group, unsigned oom)
{
	char file[64], text[128];

	snprintf(file, sizeof(file), "%s/memory.events.local", group);
	snprintf(text, sizeof(text), "low 0\nhigh 7\nmax 31\noom %u\noom_kill 5\n", oom);
	put(file, text);
}

static int make(void **state)
{
	char path[256];

	(void)state;
	if (!mkdtemp(mount))
		return -1;
	snprintf(path, sizeof(path), "%s/pod", mount);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/pod/web", mount);
	mkdir(path, 0700);
	put_events("pod", 3);
	put_events("pod/web", 0);
	put("pod/memory.max", "67108864\n");
	put("pod/web/memory.max", "max\n");
	/* As a 6.18 has them; the second kind only with swap. */
	put("pod/memory.failcnt", "12\n");
	put("pod/memory.limit_in_bytes", "50331648\n");
	put("pod/web/memory.failcnt", "0\n");
	put("pod/web/memory.memsw.failcnt", "3\n");
	put("pod/web/memory.limit_in_bytes", "9223372036854771712\n");
	return 0;
}

static int drop(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", mount);
	return system(command);
}

static void whose_limit(void **state)
{
	struct cgroup_ooms before = {0};
	char path[CGROUP_PATH_MAX];
	uint64_t limit = 1;

	(void)state;
	assert_int_equal(cgroup_ooms_read_group(mount, 2, "/pod/web", &before), 0);
	assert_int_equal(before.depth, 2);
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_NONE);
	/* The pod's, which had been reached before. */
	put_events("pod", 4);
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_LIMIT);
	assert_string_equal(path, "/pod");
	assert_int_equal(limit, 64 << 20);
	/* The innermost one, without a number. */
	put_events("pod/web", 1);
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_LIMIT);
	assert_string_equal(path, "/pod/web");
	assert_int_equal(limit, 0);
}

static void not_told(void **state)
{
	struct cgroup_ooms before = {0};
	char path[CGROUP_PATH_MAX];
	uint64_t limit;

	(void)state;
	assert_int_equal(cgroup_ooms_read_group(mount, 2, "/pod/gone", &before), -ENOENT);
	assert_int_equal(cgroup_ooms_read_group(mount, 2, "/../pod", &before), -ENOENT);
	assert_int_equal(cgroup_ooms_read_group(mount, 2, "", &before), -ENOENT);
	/* The top one has no limit. */
	assert_int_equal(cgroup_ooms_read_group(mount, 2, "/", &before), 0);
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_NONE);
}

/* Version 1 counts how often a limit was reached; the kernel may have found memory then. */
static void whose_limit_was_reached(void **state)
{
	struct cgroup_ooms before = {0};
	char path[CGROUP_PATH_MAX];
	uint64_t limit = 1;

	(void)state;
	assert_int_equal(cgroup_ooms_read_group(mount, 1, "/pod/web", &before), 0);
	assert_int_equal(before.depth, 2);
	/* A 6.18 has killed for a limit, and counted nothing. */
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), -ENODATA);
	put("pod/memory.failcnt", "13\n");
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_REACHED);
	assert_string_equal(path, "/pod");
	assert_int_equal(limit, 48 << 20);
	put("pod/web/memory.memsw.failcnt", "4\n");
	assert_int_equal(cgroup_ooms_since(&before, path, &limit), CGROUP_OOM_REACHED);
	assert_string_equal(path, "/pod/web");
	assert_int_equal(cgroup_ooms_read_group(mount, 1, "/pod/gone", &before), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_limit),
		cmocka_unit_test(not_told),
		cmocka_unit_test(whose_limit_was_reached),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
