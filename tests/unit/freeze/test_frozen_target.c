// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process that its control group's freezer holds: it is not made to do anything, which is said at once; it is stopped and read
 * where the kernel stops it; and it goes on when it is thawed as if nothing had been.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/freeze/remote_target.h"
#include "tests/unit/freezer_group.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/remote.h"
#include "user/freeze/stop.h"
#include "user/process/proc.h"

#define HOLD (10 * NS_PER_S) /* nobody waits for it */

static struct freezer_group group, below;

static int clean(void **state)
{
	(void)state;
	if (*group.directory)
		freezer_group_thaw(&group);
	if (*below.directory)
		freezer_group_thaw(&below);
	if (target)
		target_end();
	freezer_group_remove(&below);
	freezer_group_remove(&group);
	return 0;
}

static void freeze_target(int version)
{
	if (!freezer_group_make(&group, version))
		skip();
	target_start(in_company);
	assert_true(all_move());
	freezer_group_enter(&group, "cgroup.procs", target);
	freezer_group_freeze(&group);
}

static void is_made_to_do_nothing(void)
{
	struct remote *r = NULL;
	struct call_code code;
	char why[REASON_MAX] = "";

	assert_int_equal(can_run_check(target, why), -EPERM);
	freezer_group_is_told(&group, why);
	*why = '\0';
	assert_int_equal(remote_begin(target, HOLD, &r, why), -EPERM);
	freezer_group_is_told(&group, why);
	*why = '\0';
	assert_int_equal(forkcopy_prepare(target, &code, why), -EPERM);
	freezer_group_is_told(&group, why);
	assert_true(nobody_traces());
}

static void goes_on(void)
{
	char why[REASON_MAX] = "";

	assert_true(freezer_group_thaw(&group));
	assert_int_equal(can_run_check(target, why), 0);
	assert_true(all_move());
	assert_int_equal(books->bad_registers, 0);
	assert_int_equal(books->bad_vectors, 0);
	assert_int_equal(books->bad_calls, 0);
}

static void version_2(void **state)
{
	char why[REASON_MAX] = "";
	uint64_t turns;
	struct stop *stop;

	(void)state;
	freeze_target(2);
	turns = books->turns;
	is_made_to_do_nothing();
	/* All of its threads stop for ptrace, and are frozen again. */
	for (int i = 0; i < 10; i++) {
		if (stop_begin(target, HOLD, NULL, &stop, why))
			fail_msg("%s", why);
		assert_int_equal(stop_thread_count(stop), 9);
		for (size_t t = 0; t < stop_thread_count(stop); t++)
			assert_true(stop_thread_at(stop, t)->sp && stop_thread_at(stop, t)->words);
		stop_free(stop);
	}
	assert_true(nobody_traces());
	assert_int_equal(books->turns, turns);
	goes_on();
}

static void version_1(void **state)
{
	char why[REASON_MAX] = "";
	struct stop *stop = NULL;

	(void)state;
	freeze_target(1);
	is_made_to_do_nothing();
	assert_int_equal(stop_begin(target, HOLD, NULL, &stop, why), -EBUSY);
	freezer_group_is_told(&group, why);
	assert_true(nobody_traces());
	goes_on();
}

/* Its threads may be in groups of their own there. */
static void version_1_another_thread(void **state)
{
	char why[REASON_MAX] = "";
	struct remote *r = NULL;
	struct stop *stop = NULL;
	pid_t frozen;
	int err = -EBUSY;

	(void)state;
	if (!freezer_group_make(&group, 1))
		skip();
	target_start(in_company);
	assert_true(all_move());
	frozen = proc_other_thread(target, 0);
	freezer_group_enter(&group, "tasks", frozen);
	freezer_group_freeze(&group);
	/* One that is not frozen makes the calls: where none can be used at this moment, a moment later. */
	for (int i = 0; err == -EBUSY && i < 1000; i++) {
		err = remote_begin(target, HOLD, &r, why);
		if (err == -EBUSY)
			usleep(1000);
	}
	if (err)
		fail_msg("%s", why);
	assert_int_not_equal(remote_tid(r), frozen);
	remote_end(r);
	/* Not all of them can be stopped. */
	assert_int_equal(stop_begin(target, HOLD, NULL, &stop, why), -EBUSY);
	freezer_group_is_told(&group, why);
	assert_true(nobody_traces());
	goes_on();
}

/* A path that a reason has no room for: its end is told. */
static void long_path(void **state)
{
	char why[REASON_MAX] = "", name[121] = "", wanted[REASON_MAX];

	(void)state;
	if (!freezer_group_make(&group, 2))
		skip();
	memset(name, 'x', sizeof(name) - 1);
	freezer_group_make_below(&below, &group, name);
	target_start(in_company);
	assert_true(all_move());
	freezer_group_enter(&below, "cgroup.procs", target);
	freezer_group_freeze(&below);
	assert_int_equal(can_run_check(target, why), -EPERM);
	name[100] = '\0';
	snprintf(wanted, sizeof(wanted), "it is frozen; thaw it first (control group ...%s)", name);
	assert_string_equal(why, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(version_2, clean),
		cmocka_unit_test_teardown(version_1, clean),
		cmocka_unit_test_teardown(version_1_another_thread, clean),
		cmocka_unit_test_teardown(long_path, clean),
	};

	if (!books_open())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
