// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether a process is frozen: by the kernel's freezers themselves. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/freezer_group.h"
#include "tests/unit/test_proc_child.h"
#include "user/base/util.h"
#include "user/process/frozen.h"

static struct freezer_group group, below;
static struct child child;

static void make(int version)
{
	need_root();
	if (!freezer_group_make(&group, version))
		skip();
	freezer_group_make_below(&below, &group, "below");
	child = child_start(NULL, NULL);
	freezer_group_enter(&below, "cgroup.procs", child.pid);
}

static int clean(void **state)
{
	(void)state;
	if (*group.directory)
		freezer_group_thaw(&group);
	if (*below.directory)
		freezer_group_thaw(&below);
	if (child.pid)
		child_end(&child);
	child.pid = 0;
	freezer_group_remove(&below);
	freezer_group_remove(&group);
	return 0;
}

static void is_frozen_by(int version, const char *path)
{
	struct frozen frozen;

	assert_true(frozen_look(child.pid, &frozen));
	assert_int_equal(frozen.version, version);
	assert_string_equal(frozen.group, path);
}

static void is_not_frozen(void)
{
	struct frozen frozen;

	assert_false(frozen_look(child.pid, &frozen));
	assert_int_equal(frozen.version, 0);
	/* Nor is it from now on. */
	child_step(&child);
}

static void by_own_group_or_one_above(int version)
{
	make(version);
	is_not_frozen();
	freezer_group_freeze(&below);
	is_frozen_by(version, below.path);
	freezer_group_freeze(&group);
	is_frozen_by(version, below.path);
	freezer_group_thaw(&below);
	is_frozen_by(version, group.path);
	freezer_group_thaw(&group);
	is_not_frozen();
}

static void version_2(void **state)
{
	(void)state;
	by_own_group_or_one_above(2);
}

static void version_1(void **state)
{
	(void)state;
	by_own_group_or_one_above(1);
}

/*
 * Where in the kernel the child sleeps; "": the kernel does not say, as those do that cannot walk
 * their own stacks.
 */
static void child_place(char *place, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)child.pid);
	file = fopen(path, "re");
	if (!file || !fgets(place, (int)size, file) || !strcmp(place, "0"))
		*place = '\0';
	if (file)
		fclose(file);
}

/* A build of the kernel may have other functions inlined: user/process/frozen.c knows these, and variants of them. */
static bool place_is_known(const char *place)
{
	static const char *const known[] = {"do_freezer_trap", "get_signal"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t length = strlen(known[i]);

		if (!strncmp(place, known[i], length) && (!place[length] || place[length] == '.'))
			return true;
	}
	return false;
}

/* From a container with a control group namespace of its own, which the group is not in. */
static void unseen(void **state)
{
	struct freezer_group own;
	struct frozen frozen;
	char place[64];
	int status;
	pid_t other;

	(void)state;
	make(2);
	freezer_group_make_below(&own, &group, "own");
	other = fork();
	if (!other) {
		/* The namespace's root is where it is now. */
		freezer_group_enter(&own, "cgroup.procs", getpid());
		if (unshare(CLONE_NEWCGROUP))
			_exit(1);
		freezer_group_freeze(&below);
		_exit(frozen_look(child.pid, &frozen) && !*frozen.group ? 10 + frozen.version : 2);
	}
	assert_int_equal(waitpid(other, &status, 0), other);
	child_place(place, sizeof(place));
	freezer_group_thaw(&below);
	freezer_group_remove(&own);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
		print_message("skipped: no control group namespace can be made here\n");
		skip();
	}
	if (!*place) {
		print_message("skipped: this kernel does not say where threads sleep\n");
		skip();
	}
	print_message("frozen in %s\n", place);
	assert_true(WIFEXITED(status));
	if (!place_is_known(place)) {
		/* What is not known is not taken for frozen. */
		assert_int_equal(WEXITSTATUS(status), 2);
		print_message("skipped: this kernel's threads are frozen in another function\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 12);
	is_not_frozen();
}

static void of_nobody(void **state)
{
	struct frozen frozen;

	(void)state;
	assert_false(frozen_look(getpid(), &frozen));
	assert_false(frozen_look(0x7fffffff, &frozen));
}

static void lines(void **state)
{
	static const struct {
		const char *text, *v1, *v2;
	} cases[] = {
		{"", "", ""},
		{"0::/a/b\n", "", "/a/b"},
		{"12:freezer:/docker/x\n11:memory:/m\n0::/\n", "/docker/x", "/"},
		{"3:cpu,freezer,cpuacct:/a:b\n", "/a:b", ""},
		/* Not freezers: other names that begin or end so, and a hierarchy that has only a name. */
		{"3:freezer2,xfreezer:/a\n4:name=freezer:/b\n5::/c\n", "", ""},
		/* Not lines. */
		{"0:\n0::\n0::a\n:::/\nfreezer:/\n\n0:freezer", "", ""},
	};
	struct frozen_paths paths;
	char text[2 * CGROUP_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		frozen_parse(cases[i].text, &paths);
		assert_string_equal(paths.v1, cases[i].v1);
		assert_string_equal(paths.v2, cases[i].v2);
	}
	/* As long as there is room for, and longer. */
	for (size_t size = CGROUP_PATH_MAX - 1; size <= CGROUP_PATH_MAX; size++) {
		memset(text, 'x', sizeof(text));
		memcpy(text, "0::/", 4);
		text[3 + size] = '\0';
		frozen_parse(text, &paths);
		assert_int_equal(strlen(paths.v2), size < CGROUP_PATH_MAX ? size : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(version_2, clean),
		cmocka_unit_test_teardown(version_1, clean),
		cmocka_unit_test_teardown(unseen, clean),
		cmocka_unit_test(of_nobody),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
