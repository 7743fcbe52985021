// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "user/analysis/leaks.h"
#include "user/analysis/rank.h"
#include "user/base/util.h"

static struct stack live_stack(uint64_t id, uint64_t bytes, uint64_t count)
{
	return (struct stack){
		.id = id,
		.live = {bytes, count},
		.alloc = {bytes, count},
		.older = {bytes, count},
	};
}

static void check_order(const struct report *r, enum rank_by by, const uint64_t *ids, size_t count)
{
	const struct stack *top[8] = {0};

	assert_int_equal(rank_top(r, by, top, 8), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(top[i]->id, ids[i]);
}

/* Of how many the best are. */
static void out_of_how_many(void **state)
{
	struct stack stacks[] = {live_stack(1, 100, 1), live_stack(2, 300, 2), live_stack(3, 0, 0)};
	struct snapshot s = {.stacks = stacks, .stack_count = ARRAY_SIZE(stacks)};
	struct report *r = report_borrow(&s);
	const struct stack *top[1] = {0};
	size_t all = 9;

	(void)state;
	assert_int_equal(rank_top_of(r, RANK_LIVE, top, 1, &all), 1);
	assert_int_equal(top[0]->id, 2);
	assert_int_equal(all, 2);
	assert_int_equal(rank_top_of(r, RANK_LIVE, top, 0, &all), 0);
	assert_int_equal(all, 2);
	report_drop(r);
}

static void orders(void **state)
{
	struct stack stacks[] = {
		live_stack(1, 100, 1), live_stack(2, 300, 2), live_stack(3, 200, 50),
		live_stack(4, 0, 7),   live_stack(5, 0, 0),
	};
	struct snapshot s = {.stacks = stacks, .stack_count = ARRAY_SIZE(stacks)};
	struct report *r = report_borrow(&s);

	(void)state;
	stacks[4].alloc = (struct amount){9999, 9};
	r->notes[0].delta_bytes = 5;
	r->notes[1].delta_bytes = -5;
	r->notes[2].delta_bytes = 6;
	r->notes[3].delta_count = 1;
	/* malloc(0) is a block, too; what is all freed is none. */
	check_order(r, RANK_LIVE, (const uint64_t[]){2, 3, 1, 4}, 4);
	check_order(r, RANK_ALLOC, (const uint64_t[]){5, 2, 3, 1, 4}, 5);
	check_order(r, RANK_GROWTH, (const uint64_t[]){3, 1, 4}, 3);
	check_order(r, RANK_COUNT, (const uint64_t[]){3, 4, 2, 1}, 4);
	stacks[0].oldest_ns = 5;
	stacks[2].oldest_ns = 7;
	check_order(r, RANK_AGE, (const uint64_t[]){3, 1, 2, 4}, 4);
	r->notes[0].fresh_bytes = r->notes[2].fresh_bytes = 0;
	r->notes[1].fresh_bytes = 3;
	r->notes[4].fresh_bytes = 9999;
	check_order(r, RANK_RATE, (const uint64_t[]){5, 2}, 2);
	/* Who looks at the report himself may leave some out. */
	r->notes[1].unwanted = true;
	check_order(r, RANK_LIVE, (const uint64_t[]){3, 1, 4}, 3);
	r->notes[1].unwanted = false;
	/* --older */
	stacks[1].older = (struct amount){0, 0};
	stacks[0].older = (struct amount){100, 1};
	stacks[2].older = (struct amount){50, 1};
	check_order(r, RANK_LIVE, (const uint64_t[]){1, 3, 4}, 3);
	report_drop(r);
}

/* However little is lost, it comes first, by what goes with it; what hangs on it comes last. */
static void lost_first(void **state)
{
	struct stack stacks[] = {live_stack(1, 9000, 9), live_stack(2, 24, 1),
				 live_stack(3, 5000, 5), live_stack(4, 100, 1),
				 live_stack(5, 7, 1)};
	struct snapshot s = {.stacks = stacks, .stack_count = ARRAY_SIZE(stacks)};
	struct report *r;

	(void)state;
	stacks[0].verdict[VERDICT_REACHABLE] = stacks[0].live;
	stacks[1].verdict[VERDICT_DEFINITE] = stacks[1].live;
	stacks[1].kept = stacks[2].hangs = stacks[2].verdict[VERDICT_INDIRECT] = stacks[2].live;
	stacks[3].verdict[VERDICT_DEFINITE] = stacks[3].live;
	stacks[4].verdict[VERDICT_INDIRECT] = stacks[4].live; /* on a block of no stack */
	r = report_borrow(&s);
	leaks_find_hanging(r);
	check_order(r, RANK_LIVE, (const uint64_t[]){1, 3, 4, 2, 5}, 5);
	s.verdict.state = VERDICT_TAKEN;
	leaks_find_hanging(r);
	assert_true(r->notes[2].hangs && !r->notes[4].hangs);
	check_order(r, RANK_LIVE, (const uint64_t[]){2, 4, 5, 1, 3}, 5);
	check_order(r, RANK_SUSPECT, (const uint64_t[]){2, 1, 4, 5, 3}, 5);
	/* What a suppression has is not lost, and tells nothing of what hangs on it. */
	r->notes[2].hangs = false;
	r->notes[1].suppressed = 1u << VERDICT_DEFINITE;
	leaks_find_hanging(r);
	assert_false(r->notes[2].hangs);
	check_order(r, RANK_LIVE, (const uint64_t[]){4, 5, 1, 3, 2}, 5);
	report_drop(r);
}

static void ties(void **state)
{
	struct stack stacks[] = {
		live_stack(9, 64, 1),	       live_stack(3, 64, 1), live_stack(7, 64, 2),
		live_stack(UINT64_MAX, 64, 1), live_stack(1, 64, 1),
	};
	struct snapshot s = {.stacks = stacks, .stack_count = ARRAY_SIZE(stacks)};
	struct report *r = report_borrow(&s);

	(void)state;
	check_order(r, RANK_LIVE, (const uint64_t[]){7, 1, 3, 9, UINT64_MAX}, 5);
	report_drop(r);
}

static int better_first(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	if (x->live.count != y->live.count)
		return x->live.count > y->live.count ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The heap against a plain sort, for every size of the top, with many ties. */
static void against_sort(void **state)
{
	enum { N = 300 };
	struct stack stacks[N], sorted[N];
	struct snapshot s = {.stacks = stacks, .stack_count = N};
	const struct stack *top[N + 1];
	struct report *r;
	unsigned seed = 12345;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		seed = seed * 1103515245 + 12345;
		stacks[i] =
			live_stack((seed >> 8) * 1000 + i, (seed >> 16) % 20, 1 + (seed >> 24) % 3);
		sorted[i] = stacks[i];
	}
	qsort(sorted, N, sizeof(sorted[0]), better_first);
	r = report_borrow(&s);
	for (size_t max = 0; max <= N + 1; max++) {
		size_t count = rank_top(r, RANK_LIVE, top, max);

		assert_int_equal(count, max < N ? max : N);
		for (size_t i = 0; i < count; i++)
			assert_true(top[i]->id == sorted[i].id);
	}
	report_drop(r);
}

static void deltas(void **state)
{
	struct stack before[] = {live_stack(5, 100, 10), live_stack(1, 70, 7), live_stack(3, 1, 1)};
	struct stack now[] = {live_stack(1, 50, 5), live_stack(2, 8, 1), live_stack(5, 130, 11),
			      live_stack(3, 1, 1)};
	struct snapshot old = {.stacks = before, .stack_count = ARRAY_SIZE(before)};
	const struct snapshot s = {.stacks = now, .stack_count = ARRAY_SIZE(now)};
	struct report *r = report_borrow(&s);
	const struct stack_notes *notes = r->notes;

	(void)state;
	/* As of a first snapshot. */
	assert_true(notes[0].delta_bytes == 50 && notes[2].delta_count == 11);
	assert_true(r->delta_bytes == 189);
	rank_delta(r, &old);
	assert_true(notes[0].delta_bytes == -20 && notes[0].delta_count == -2);
	assert_true(notes[1].delta_bytes == 8 && notes[1].delta_count == 1);
	assert_true(notes[2].delta_bytes == 30 && notes[2].delta_count == 1);
	assert_true(notes[3].delta_bytes == 0 && notes[3].delta_count == 0);
	assert_true(r->delta_bytes == 18 && r->delta_count == 0);
	rank_delta(r, NULL);
	assert_true(notes[0].delta_bytes == 50 && notes[2].delta_count == 11);
	assert_true(r->delta_bytes == 189);
	old.stack_count = 0;
	rank_delta(r, &old);
	assert_true(r->delta_bytes == 189);
	report_drop(r);
}

/* Where nothing is known of a stack it is not shown. */
static void by_figures(void **state)
{
	struct stack_figures figures[4] = {
		{.lifetimes = {[20] = 5}, .temporary = {10, 1}, .at_peak = {7, 1}},
		{.lifetimes = {[3] = 5}, .outlived_ns = 1, .outlived = {100, 1}},
		{.lifetimes = {[10] = 5}, .temporary = {1, 9}},
		{.outlived_ns = 1},
	};
	struct stack stacks[] = {
		live_stack(1, 100, 1), live_stack(2, 100, 1),  live_stack(3, 100, 1),
		live_stack(4, 100, 1), live_stack(5, 1000, 1),
	};
	struct snapshot s = {.stacks = stacks, .stack_count = ARRAY_SIZE(stacks)};
	struct report *r = report_borrow(&s);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		stacks[i].figures = &figures[i];
	check_order(r, RANK_LIFETIME, (const uint64_t[]){2, 1, 3}, 3);
	check_order(r, RANK_PEAK, (const uint64_t[]){1}, 1);
	check_order(r, RANK_TEMPORARY, (const uint64_t[]){3, 1}, 2);
	/* 50 of what has outlived others, 62.5 of ten times as much that has not. */
	check_order(r, RANK_SUSPECT, (const uint64_t[]){5, 2, 1, 3, 4}, 5);
	stacks[1].live.bytes = figures[1].outlived.bytes = 130;
	check_order(r, RANK_SUSPECT, (const uint64_t[]){2, 5, 1, 3, 4}, 5);
	/* What is lost is not counted twice. */
	stacks[1].verdict[VERDICT_POSSIBLE].bytes = 130;
	check_order(r, RANK_SUSPECT, (const uint64_t[]){5, 2, 1, 3, 4}, 5);
	report_drop(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_how_many), cmocka_unit_test(orders),
		cmocka_unit_test(lost_first),	   cmocka_unit_test(ties),
		cmocka_unit_test(against_sort),	   cmocka_unit_test(deltas),
		cmocka_unit_test(by_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
