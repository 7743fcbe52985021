// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bad accesses of two sides: what is new, what is gone, and which of two recordings are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "user/analysis/diff.h"
#include "user/base/util.h"

static const struct frame in_load = {.function = "load", .module = "shop", .offset = 4};
static const struct frame in_main = {.function = "main", .module = "shop", .offset = 9};
static const struct frame in_store = {.function = "store", .module = "shop"};
static const struct frame without_name = {.module = "libz.so.1", .offset = 0x123};
/* As another build has it. */
static const struct frame moved = {.function = "load", .module = "shop", .offset = 77, .line = 5};

static const struct frame *const loads[] = {&in_load, &in_main};
static const struct frame *const moved_loads[] = {&moved, &in_main};
static const struct frame *const stores[] = {&in_store, &in_main};
static const struct frame *const nameless[] = {&without_name, &in_main};

static struct misuse bad_by(const struct frame *const frames[2], enum access_mode mode,
			    uint64_t count)
{
	return (struct misuse){
		.finder = MISUSE_BY_GUARD,
		.kind = MISUSE_OVERFLOW,
		.mode = mode,
		.count = count,
		.address = 0x1000,
		.block = 0x1000,
		.size = 16,
		.calls = {[MISUSE_CALL_NOW] = {.known = true, .frames = frames, .frame_count = 2}},
	};
}

static void add_side(struct diff *diff, struct snapshot *s, struct misuse *list, size_t count,
		     bool is_new)
{
	struct report *report;

	s->guard.asked = true;
	s->guard.guarded = 100;
	s->misuses[MISUSE_BY_GUARD] = (struct misuse_list){list, count};
	report = report_borrow(s);
	assert_int_equal(diff_add(diff, report, is_new), 0);
	report_drop(report);
}

static void add(struct diff *diff, struct misuse bad, bool is_new)
{
	struct snapshot s = {.pid = 1};

	add_side(diff, &s, &bad, 1, is_new);
}

static void is(const struct compared_access *access, uint64_t old, uint64_t now,
	       enum access_mode mode)
{
	assert_int_equal(access->old, old);
	assert_int_equal(access->now, now);
	assert_int_equal(access->misuse.mode, mode);
}

static void by_functions(void **state)
{
	struct diff *diff = diff_new(BY_STACK, NULL);
	const struct comparison *c;

	(void)state;
	add(diff, bad_by(loads, ACCESS_READ, 3), false);
	add(diff, bad_by(stores, ACCESS_WRITE, 1), false);
	/* Of two processes that do it. */
	add(diff, bad_by(moved_loads, ACCESS_READ, 4), true);
	add(diff, bad_by(moved_loads, ACCESS_READ, 1), true);
	add(diff, bad_by(nameless, ACCESS_READ, 2), true);
	c = diff_finish(diff, false);
	assert_int_equal(c->access_count, 3);
	is(&c->accesses[0], 0, 2, ACCESS_READ);
	is(&c->accesses[1], 3, 5, ACCESS_READ);
	/* The one that shows where it is now. */
	assert_ptr_equal(c->accesses[1].misuse.calls[MISUSE_CALL_NOW].frames, moved_loads);
	assert_int_equal(c->accesses[1].misuse.count, 5);
	is(&c->accesses[2], 1, 0, ACCESS_WRITE);
	assert_int_equal(c->access_counts[PRESENCE_NEW], 1);
	assert_int_equal(c->access_counts[PRESENCE_BOTH], 1);
	assert_int_equal(c->access_counts[PRESENCE_GONE], 1);
	assert_int_equal(c->old.bad_accesses, 4);
	assert_int_equal(c->now.bad_accesses, 7);
	assert_int_equal(c->now.guarded_blocks, 300);
	diff_free(diff);
}

/* One kind, one stack: yet what writes now is new where it only read. */
static void by_mode(void **state)
{
	struct misuse freed = bad_by(loads, ACCESS_READ, 1);
	struct diff *diff = diff_new(BY_STACK, NULL);
	const struct comparison *c;

	(void)state;
	freed.kind = MISUSE_USE_AFTER_FREE;
	add(diff, bad_by(loads, ACCESS_READ, 1), false);
	add(diff, bad_by(loads, ACCESS_WRITE, 1), true);
	add(diff, freed, true);
	c = diff_finish(diff, false);
	assert_int_equal(c->access_count, 3);
	is(&c->accesses[0], 0, 1, ACCESS_WRITE);
	assert_int_equal(c->accesses[1].misuse.kind, MISUSE_USE_AFTER_FREE);
	is(&c->accesses[2], 1, 0, ACCESS_READ);
	diff_free(diff);
}

/* Of what a process did at its end it may not be known. */
static void by_unknown_mode(void **state)
{
	struct diff *diff = diff_new(BY_STACK, NULL);
	const struct comparison *c;

	(void)state;
	add(diff, bad_by(loads, ACCESS_READ, 1), false);
	add(diff, bad_by(loads, ACCESS_UNKNOWN, 2), true);
	/* Either of the two may be what it was. */
	add(diff, bad_by(stores, ACCESS_UNKNOWN, 1), false);
	add(diff, bad_by(stores, ACCESS_READ, 1), true);
	add(diff, bad_by(stores, ACCESS_WRITE, 5), true);
	c = diff_finish(diff, false);
	assert_int_equal(c->access_count, 2);
	is(&c->accesses[0], 1, 6, ACCESS_UNKNOWN);
	is(&c->accesses[1], 1, 2, ACCESS_READ);
	diff_free(diff);
}

static void left_out(void **state)
{
	struct misuse list[2] = {bad_by(loads, ACCESS_READ, 1), bad_by(stores, ACCESS_READ, 2)};
	struct snapshot s = {.pid = 1, .guard.lost = 7};
	struct diff *diff = diff_new(BY_STACK, NULL);
	const struct comparison *c;

	(void)state;
	list[0].suppressed = "known";
	add_side(diff, &s, list, 2, true);
	c = diff_finish(diff, false);
	assert_int_equal(c->access_count, 1);
	is(&c->accesses[0], 0, 2, ACCESS_READ);
	assert_int_equal(c->now.bad_accesses, 2);
	assert_int_equal(c->now.not_listed, 7);
	assert_true(c->now.guarded);
	assert_false(c->old.guarded);
	diff_free(diff);
}

/* Its memory is gone, not what it has done. */
static void replaced(void **state)
{
	struct stack stack = {.id = 1, .live = {10, 1}};
	struct misuse bad = bad_by(loads, ACCESS_READ, 1);
	struct snapshot s = {.pid = 1, .execed = true, .stacks = &stack, .stack_count = 1};
	struct diff *diff = diff_new(BY_STACK, NULL);
	const struct comparison *c;

	(void)state;
	add_side(diff, &s, &bad, 1, true);
	c = diff_finish(diff, false);
	assert_int_equal(c->access_count, 1);
	assert_int_equal(c->now.bad_accesses, 1);
	assert_int_equal(c->stack_count, 0);
	assert_int_equal(c->now.processes, 0);
	diff_free(diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_functions),	   cmocka_unit_test(by_mode),
		cmocka_unit_test(by_unknown_mode), cmocka_unit_test(left_out),
		cmocka_unit_test(replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
