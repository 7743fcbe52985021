// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The budget of the survey's probes, by a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/survey/survey_budget.h"

#define STEP_NS (100 * NS_PER_MS)

struct run {
	struct survey_budget budget;
	struct trace_cost cost;
	uint64_t now;
};

static struct run run_new(void)
{
	return (struct run){.budget = {.share = 0.02}, .now = 1000 * NS_PER_S};
}

/* Lets time go by, during which probes take that share of a CPU. */
static void pass(struct run *r, uint64_t ns, double share)
{
	for (uint64_t end = r->now + ns; r->now < end;) {
		r->now += STEP_NS;
		r->cost.hits++;
		r->cost.ns += (uint64_t)(share * STEP_NS);
		r->cost.run_ns += (uint64_t)(share * STEP_NS) / 4;
		assert_true(survey_budget_is_due(&r->budget, r->now));
		survey_budget_measure(&r->budget, r->now, &r->cost);
	}
}

static void open_window(struct run *r)
{
	assert_true(survey_budget_has_room(&r->budget, r->now));
	survey_budget_open(&r->budget, r->now);
	survey_budget_measure(&r->budget, r->now, &r->cost);
	survey_budget_adding(&r->budget);
}

/* 2 % of a minute are 1.2 s. */
static void a_minute(void **state)
{
	struct run r = run_new();

	(void)state;
	open_window(&r);
	pass(&r, 10 * NS_PER_S, 0.11);
	assert_false(survey_budget_is_used_up(&r.budget, r.now));
	pass(&r, NS_PER_S, 0.11);
	assert_true(survey_budget_is_used_up(&r.budget, r.now));
	assert_in_range(r.budget.probe_ns, 1209 * NS_PER_MS, 1211 * NS_PER_MS);
	assert_int_equal(r.budget.probe_hits, 110);
	/* It goes as it came, and half of it must be there again. */
	pass(&r, 50 * NS_PER_S, 0);
	assert_false(survey_budget_has_room(&r.budget, r.now));
	pass(&r, 6 * NS_PER_S, 0);
	assert_true(survey_budget_has_room(&r.budget, r.now));
	pass(&r, 60 * NS_PER_S, 0);
	assert_true(survey_budget_spent(&r.budget, r.now) == 0);
}

/* What the tool takes itself is paid for by waiting. */
static void rest(void **state)
{
	struct run r = run_new();
	uint64_t opened = r.now;

	(void)state;
	assert_true(survey_budget_rests(&r.budget));
	open_window(&r);
	assert_false(survey_budget_rests(&r.budget));
	survey_budget_add_own(&r.budget, 400 * NS_PER_MS);
	pass(&r, 10 * NS_PER_S, 0.01);
	assert_in_range(survey_budget_rest(&r.budget), 499 * NS_PER_MS, 501 * NS_PER_MS);
	assert_true(survey_budget_rests(&r.budget));
	assert_in_range(r.budget.rest_until_ns - opened, 24900 * NS_PER_MS, 25100 * NS_PER_MS);
	assert_false(survey_budget_has_room(&r.budget, r.now));
	assert_true(survey_budget_has_room(&r.budget, opened + 26 * NS_PER_S));
}

/* A burst is none yet; who has been added last is to blame if the share has risen by as much. */
static void busy(void **state)
{
	struct run r = run_new();

	(void)state;
	open_window(&r);
	pass(&r, 2 * STEP_NS, 0.3);
	assert_true(survey_budget_is_busy(&r.budget));
	assert_false(survey_budget_is_too_busy(&r.budget, r.now));
	pass(&r, STEP_NS, 0.01);
	assert_false(survey_budget_is_busy(&r.budget));
	survey_budget_adding(&r.budget);
	pass(&r, 5 * STEP_NS, 0.3);
	assert_true(survey_budget_is_too_busy(&r.budget, r.now));
	assert_true(survey_budget_blame_last(&r.budget));
	assert_false(survey_budget_is_busy(&r.budget));
	/* One that adds little to those that are there. */
	pass(&r, STEP_NS, 0.2);
	survey_budget_adding(&r.budget);
	pass(&r, 5 * STEP_NS, 0.3);
	assert_true(survey_budget_is_too_busy(&r.budget, r.now));
	assert_false(survey_budget_blame_last(&r.budget));
}

/* Programs that are loaded anew count from zero; what has been spent stays spent. */
static void loaded_anew(void **state)
{
	struct run r = run_new();
	double spent;

	(void)state;
	open_window(&r);
	pass(&r, NS_PER_S, 0.1);
	assert_false(survey_budget_is_for_walks(&r.budget));
	spent = survey_budget_spent(&r.budget, r.now);
	survey_budget_unloaded(&r.budget);
	r.cost = (struct trace_cost){.hits = 1, .ns = 100, .run_ns = 60};
	assert_true(survey_budget_is_due(&r.budget, r.now));
	survey_budget_measure(&r.budget, r.now, &r.cost);
	assert_true(survey_budget_is_for_walks(&r.budget));
	assert_true(survey_budget_spent(&r.budget, r.now) == spent);
	assert_int_equal(r.budget.probe_hits, 10);
	assert_false(survey_budget_is_due(&r.budget, r.now + NS_PER_MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute),
		cmocka_unit_test(rest),
		cmocka_unit_test(busy),
		cmocka_unit_test(loaded_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
