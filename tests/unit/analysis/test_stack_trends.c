// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Trends of stacks over snapshots, and the order that --sort growth makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "user/analysis/rank.h"
#include "user/analysis/stack_trends.h"
#include "user/analysis/trend_series.h"
#include "user/base/util.h"

static void set_live(struct stack *stack, uint64_t id, uint64_t bytes)
{
	*stack = (struct stack){
		.id = id, .live = {bytes, 1}, .alloc = {bytes, 1}, .older = {bytes, 1}};
}

static struct snapshot at(uint64_t second, struct stack *stacks, size_t count)
{
	return (struct snapshot){
		.elapsed_ns = second * 1000000000ull, .stacks = stacks, .stack_count = count};
}

/* A slow leak, a buffer that comes and goes, a table that stays; then a burst in the buffer. */
static void growth_before_bursts(void **state)
{
	struct stack_trends *trends = stack_trends_new();
	struct stack before[3], now[3];
	const struct stack *top[3];
	struct snapshot last, s;
	struct report *r = NULL;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		set_live(&now[0], 1, 100 * (i + 1));
		set_live(&now[1], 2, 1000000 + (i % 4) * 100000 + (i == 39) * 5000000);
		set_live(&now[2], 3, 8000000);
		s = at(i, now, 3);
		last = at(i - 1, before, 3);
		report_drop(r);
		r = report_borrow(&s);
		rank_delta(r, i ? &last : NULL);
		assert_int_equal(stack_trends_update(trends, r), 0);
		stack_trends_judge_all(trends, r);
		assert_int_equal(r->notes[0].trend.kind == TREND_TOO_EARLY,
				 i + 1 < TREND_MIN_SAMPLES);
		assert_int_equal(r->notes[0].trend.growth_known, i > 0);
		for (size_t k = 0; k < ARRAY_SIZE(now); k++)
			before[k] = now[k];
	}
	assert_int_equal(r->notes[0].trend.kind,
			 TREND_STEADY); /* 3,900 bytes are below the floor */
	for (uint64_t i = 40; i < 80; i++) {
		set_live(&now[0], 1, 100 * (i + 1));
		set_live(&now[1], 2, 1000000 + (i % 4) * 100000 + (i == 79) * 5000000);
		set_live(&now[2], 3, 8000000);
		s = at(i, now, 3);
		last = at(i - 1, before, 3);
		report_drop(r);
		r = report_borrow(&s);
		rank_delta(r, &last);
		assert_int_equal(stack_trends_update(trends, r), 0);
		stack_trends_judge_all(trends, r);
		for (size_t k = 0; k < ARRAY_SIZE(now); k++)
			before[k] = now[k];
	}
	assert_int_equal(r->notes[0].trend.kind, TREND_GROWING);
	assert_true(r->notes[0].trend.leaking);
	assert_true(r->notes[0].trend.growth > 99 && r->notes[0].trend.growth < 101);
	assert_int_not_equal(r->notes[1].trend.kind, TREND_GROWING);
	assert_int_equal(r->notes[2].trend.kind, TREND_STEADY);
	assert_int_equal(rank_top(r, RANK_GROWTH, top, 3), 2);
	assert_int_equal(top[0]->id, 1);
	assert_int_equal(top[1]->id, 2);
	report_drop(r);
	stack_trends_free(trends);
}

/* More stacks than are followed: the largest are, whenever they come. */
static void the_largest_are_followed(void **state)
{
	struct stack_trends *trends = stack_trends_new();
	static struct stack stacks[5000];
	struct report *r = NULL;
	struct snapshot s;
	size_t followed = 0;

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		s = at(i, stacks, i < 3 ? 4000 : ARRAY_SIZE(stacks));
		for (size_t k = 0; k < ARRAY_SIZE(stacks); k++)
			set_live(&stacks[k], k + 1, k < 4000 ? 1000 + k : 1000000 + 10000 * i);
		report_drop(r);
		r = report_borrow(&s);
		assert_int_equal(stack_trends_update(trends, r), 0);
		stack_trends_judge_all(trends, r);
	}
	for (size_t k = 4000; k < ARRAY_SIZE(stacks); k++)
		assert_int_equal(r->notes[k].trend.kind, TREND_GROWING);
	for (size_t k = 0; k < ARRAY_SIZE(stacks); k++)
		followed += r->notes[k].trend.kind != TREND_UNKNOWN;
	assert_in_range(followed, 1000, 1024);
	report_drop(r);
	stack_trends_free(trends);
}

/* An estimate must move by more than its own error. */
static void estimates_are_not_taken_for_growth(void **state)
{
	struct stack_trends *trends = stack_trends_new();
	struct report *r = NULL;
	struct snapshot s;
	struct stack stack;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		s = at(i, &stack, 1);
		set_live(&stack, 7, 100000 + 1000 * i);
		stack.error_bytes = 20000;
		report_drop(r);
		r = report_borrow(&s);
		assert_int_equal(stack_trends_update(trends, r), 0);
		stack_trends_judge_all(trends, r);
	}
	assert_int_equal(r->notes[0].trend.kind, TREND_STEADY);
	report_drop(r);
	stack_trends_free(trends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_before_bursts),
		cmocka_unit_test(the_largest_are_followed),
		cmocka_unit_test(estimates_are_not_taken_for_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
