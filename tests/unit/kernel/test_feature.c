// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trials of kernel features. What needs root is skipped without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/kernel/feature.h"
#include "user/kernel/feature_machine.h"

#define NOBODY 65534

static struct features *new_features(void)
{
	struct features *features = features_new();

	assert_non_null(features);
	return features;
}

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/*
 * Runs check() in a child process without any privilege; its exit status says which check failed.
 */
static void in_unprivileged_child(int (*check)(struct features *features),
				  struct features *features)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (getuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
			_exit(100);
		_exit(check(features));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int check_refused(struct features *features)
{
	for (int i = FEATURE_BPF; i < FEATURES; i++) {
		if (features_have(features, (enum feature)i))
			return i + 1;
		/* Each says what was tried and what the system answered. */
		if (!strstr(features_why(features, (enum feature)i), ": "))
			return 50 + i;
	}
	return 0;
}

static void test_unprivileged(void **state)
{
	struct features *features = new_features();

	(void)state;
	in_unprivileged_child(check_refused, features);
	features_free(features);
}

static int check_remembered(struct features *features)
{
	return !features_have(features, FEATURE_BPF);
}

/* A second question does not try again: it would fail without privileges. */
static void test_remembered(void **state)
{
	struct features *features = new_features();

	(void)state;
	if (!features_have(features, FEATURE_BPF)) {
		features_free(features);
		print_message("needs root\n");
		skip();
	}
	in_unprivileged_child(check_remembered, features);
	features_free(features);
}

static void test_not_tried(void **state)
{
	struct features *features = new_features();

	(void)state;
	for (int i = 0; i < FEATURES; i++)
		assert_string_equal(features_why(features, (enum feature)i), "");
	features_free(features);
}

/* With privileges, a kernel has at least what its version promises. */
static void test_by_version(void **state)
{
	static const struct {
		enum feature feature;
		unsigned major, minor;
	} since[] = {
		{FEATURE_RINGBUF, 5, 8},
		{FEATURE_TASK_EVENTS, 5, 5},
		{FEATURE_UPROBE_COOKIE, 5, 15},
		{FEATURE_UPROBE_MULTI, 6, 6},
		{FEATURE_UPROBE_MULTI_PID, 6, 10},
		{FEATURE_UPROBE_SESSION, 6, 13},
		{FEATURE_FIND_VMA, 5, 17},
		{FEATURE_TASK_STORAGE, 5, 12},
		{FEATURE_LOOP, 5, 17},
	};
	struct features *features = new_features();
	struct machine machine;
	unsigned before;

	(void)state;
	machine_read(&machine);
	if (!features_have(features, FEATURE_BPF) || !features_have(features, FEATURE_BTF)) {
		features_free(features);
		print_message("needs root\n");
		skip();
	}
	before = open_files();
	for (size_t i = 0; i < ARRAY_SIZE(since); i++) {
		bool have = features_have(features, since[i].feature);

		if (!have)
			print_message("feature %d: %s\n", since[i].feature,
				      features_why(features, since[i].feature));
		if (machine_kernel_at_least(&machine, since[i].major, since[i].minor))
			assert_true(have);
		assert_int_equal(have, !features_why(features, since[i].feature)[0]);
	}
	/* What a trial attaches is detached: the link was all that held it. */
	assert_int_equal(open_files(), before);
	if (features_have(features, FEATURE_UPROBE_SESSION))
		assert_true(features_have(features, FEATURE_UPROBE_MULTI_PID));
	if (features_have(features, FEATURE_UPROBE_MULTI_PID))
		assert_true(features_have(features, FEATURE_UPROBE_MULTI));
	features_free(features);
}

/* Several tools that start at once find the same; each sees what the others call, where it has no filter. */
static void test_at_once(void **state)
{
	enum { TOOLS = 4, TRIES = 20 };
	struct features *features = new_features();
	pid_t tools[TOOLS];
	int status;

	(void)state;
	if (!features_have(features, FEATURE_UPROBE_MULTI)) {
		print_message(features_have(features, FEATURE_BPF)
				      ? "this kernel has no multi-uprobe links\n"
				      : "needs root\n");
		features_free(features);
		skip();
	}
	for (int i = 0; i < TOOLS; i++) {
		tools[i] = fork();
		assert_true(tools[i] >= 0);
		if (tools[i])
			continue;
		for (int try = 0; try < TRIES; try++) {
			struct features *own = features_new();

			if (!own || !features_have(own, FEATURE_UPROBE_MULTI))
				_exit(1);
			features_free(own);
		}
		_exit(0);
	}
	for (int i = 0; i < TOOLS; i++) {
		assert_int_equal(waitpid(tools[i], &status, 0), tools[i]);
		assert_int_equal(status, 0);
	}
	features_free(features);
}

static void test_parse(void **state)
{
	uint64_t caps = 0;

	(void)state;
	assert_int_equal(machine_parse_lockdown("[none] integrity confidentiality\n"),
			 LOCKDOWN_NONE);
	assert_int_equal(machine_parse_lockdown("none [integrity] confidentiality\n"),
			 LOCKDOWN_INTEGRITY);
	assert_int_equal(machine_parse_lockdown("none integrity [confidentiality]\n"),
			 LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(machine_parse_lockdown(""), LOCKDOWN_UNKNOWN);

	assert_true(machine_parse_capabilities("Name:\tx\nCapPrm:\t0\nCapEff:\t000001ffffffffff\n",
					       &caps));
	assert_int_equal(caps, 0x1ffffffffff);
	assert_false(machine_parse_capabilities("Name:\tCapEff: 1\n", &caps));
	assert_false(machine_parse_capabilities("", &caps));

	assert_true(machine_parse_initial_userns("         0          0 4294967295\n"));
	assert_false(machine_parse_initial_userns("         0     100000      65536\n"));
	assert_false(machine_parse_initial_userns("         0       1000          1\n"));
	assert_false(machine_parse_initial_userns("nonsense"));
}

static void test_machine(void **state)
{
	struct machine machine;

	(void)state;
	machine_read(&machine);
	assert_true(machine_kernel_at_least(&machine, 4, 0));
	assert_false(machine_kernel_at_least(&machine, machine.major, machine.minor + 1));
	assert_true(machine_kernel_at_least(&machine, machine.major - 1, 999));
	assert_int_equal(machine.memlock_matters, !machine_kernel_at_least(&machine, 5, 11));
	if (geteuid() && machine.initial_userns)
		assert_false(machine_has_capability(&machine, CAP_SYS_ADMIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unprivileged), cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_not_tried),    cmocka_unit_test(test_by_version),
		cmocka_unit_test(test_at_once),	     cmocka_unit_test(test_parse),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
