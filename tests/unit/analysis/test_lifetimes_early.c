// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What knowing lifetimes does to finding a leak early: how often the leaking one of seven stacks comes
 * first by --sort suspect, with it and without. Stacks develop as in the tests of trends; of what
 * stays in a stack (the leak, a cache, data that is loaded once) half of the stacks have short-lived
 * blocks as well, so that it is seen to have outlived them, and half have nothing else. docs/figures.md
 * has the numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/trend_kinds.h"
#include "tests/unit/borrowed_report.h"
#include "user/analysis/rank.h"
#include "user/analysis/trend_series.h"
#include "user/base/util.h"

#define ROUNDS	   400
#define STACKS	   7 /* the leak, and six of those that are none */
#define MIB	   (1024.0 * 1024)
#define FLOOR_MIB  (1024 * 1024)
#define INTERVAL_S 10

/* What of a stack's bytes came after the first sample and stays, in parts of its first sample. */
static double kept_of(const struct kind *kind, const double *v, size_t at)
{
	/* What was there at first is as old in all of them; what goes up and down is freed. */
	if (kind->leaks || kind->make == warm_up || kind->make == jumps)
		return fmax(v[at] - v[0], 0);
	return 0;
}

/* One stack after n samples. */
static void make_stack(const struct kind *kind, uint64_t *seed, size_t n, struct stack *stack,
		       struct stack_notes *notes, struct stack_figures *figures)
{
	struct trend_series *series = trend_series_new();
	double v[MAX_SAMPLES], scale = log_between(seed, 32 * MIB, 512 * MIB);
	double noise = log_between(seed, 0.0005, 0.02);
	bool mixed = uniform(seed) < 0.5, loaded_once = uniform(seed) < 0.5;
	size_t before = n > 1 ? n - 2 : 0;

	assert_non_null(series);
	kind->make(seed, MAX_SAMPLES / 10, v);
	for (size_t i = 0; i < n; i++) {
		double value = scale * (v[i] + noise * normal(seed));

		stack->live.bytes = (uint64_t)fmax(value, 0);
		assert_int_equal(
			trend_add(series, INTERVAL_S * 1000000000ull * i, stack->live.bytes), 0);
	}
	stack->live.count = stack->live.bytes / 100;
	stack->oldest_ns = INTERVAL_S * 1000000000ull * n;
	trend_judge(series, FLOOR_MIB, &notes->trend);
	trend_series_free(series);
	/* Older than a second is what was there at the sample before. */
	if (mixed)
		figures->outlived.bytes =
			(uint64_t)(scale * (kept_of(kind, v, before) + (loaded_once ? v[0] : 0)));
	figures->outlived.count = figures->outlived.bytes / 100;
}

/* Of all rounds, in percent, those in which the leak comes first. */
static double found_first(size_t n, bool lifetimes)
{
	size_t found = 0;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct stack_figures figures[STACKS] = {0};
		struct stack stacks[STACKS] = {0};
		struct snapshot s = {.stacks = stacks, .stack_count = STACKS};
		struct report *r = report_borrow(&s);
		uint64_t seed = round * 7919;
		const struct stack *top;

		for (size_t i = 0; i < STACKS; i++) {
			/* The first three kinds are leaks. */
			const struct kind *kind = &kinds[i ? 2 + i : round % 3];

			make_stack(kind, &seed, n, &stacks[i], &r->notes[i], &figures[i]);
			stacks[i].id = i + 1;
			stacks[i].figures = lifetimes ? &figures[i] : NULL;
		}
		found += rank_top(r, RANK_SUSPECT, &top, 1) && top == &stacks[0];
		report_drop(r);
	}
	return 100.0 * (double)found / ROUNDS;
}

static void earlier(void **state)
{
	static const size_t samples[] = {3, 6, 12, 30, 60};
	double gained = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		double without = found_first(samples[i], false),
		       with = found_first(samples[i], true);

		print_message(
			"%2zu samples: the leak is first in %.1f %%, with lifetimes in %.1f %%\n",
			samples[i], without, with);
		gained += with - without;
		/* Where trends are known they are what tells. */
		assert_true(with >= without - 1);
	}
	assert_true(gained > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
