// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process is held by its only thread, and not by one of several: the others would run into code that is being changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/freeze/remote_target.h"
#include "user/freeze/remote.h"
#include "user/gate/gate_hold.h"

static struct remote *enter(struct gate_hold *hold)
{
	char why[REASON_MAX] = "";
	struct remote *remote = NULL;

	if (gate_hold_enter(target, hold, 0, &remote, why))
		fail_msg("%s", why);
	assert_non_null(remote);
	return remote;
}

static void by_its_only_thread(void **state)
{
	struct gate_hold hold = {0};
	struct remote *remote;
	uint64_t turns;
	pid_t loose;

	(void)state;
	target_start(turn);
	assert_true(moves(&books->turns));
	remote = enter(&hold);
	assert_ptr_equal(hold.holder, remote);
	turns = books->turns;
	assert_int_equal(gate_hold_leave(&hold, remote, false, &loose), 0);
	assert_int_equal(loose, 0);
	assert_ptr_equal(enter(&hold), remote);
	assert_int_equal(books->turns, turns);
	gate_hold_end(&hold);
	assert_null(hold.holder);
	assert_true(moves(&books->turns));
	target_end();
}

static void *two(void *arg)
{
	start_thread(nanosleeper);
	return turn(arg);
}

static void with_others(void **state)
{
	struct gate_hold hold = {0};
	struct remote *remote;
	pid_t loose;

	(void)state;
	target_start(two);
	assert_true(moves(&books->waits) && moves(&books->turns));
	remote = enter(&hold);
	assert_null(hold.holder);
	assert_true(gate_hold_leave(&hold, remote, false, &loose) > 0);
	assert_int_equal(loose, 0);
	assert_true(nobody_traces());
	assert_true(moves(&books->waits) && moves(&books->turns));
	target_end();
}

/* What may not be used from the beginning is not waited for; what has come to that amid the tries is. */
static void tried_again(void **state)
{
	(void)state;
	assert_false(gate_hold_again(-EPERM, 1));
	assert_true(gate_hold_again(-EPERM, 2));
	assert_false(gate_hold_again(-EPERM, 4));
	assert_true(gate_hold_again(-ETIMEDOUT, 1));
	assert_true(gate_hold_again(-EBUSY, 1));
	assert_false(gate_hold_again(-ESRCH, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_its_only_thread),
		cmocka_unit_test(with_others),
		cmocka_unit_test(tried_again),
	};

	return books_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
