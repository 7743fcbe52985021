// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How often what is kept is sampled, by a clock and a counter that the test moves; and who is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/keep/keep_budget.h"
#include "user/keep/keep_filter.h"

struct run {
	struct keep_budget budget;
	uint64_t now, samples;
	double exact; /* the same with its fraction */
	unsigned changes;
};

static struct run run_new(uint64_t per_second)
{
	struct run r = {.now = 1000 * NS_PER_S};

	keep_budget_begin(&r.budget, per_second, r.now);
	return r;
}

/* So many a second there would be at level 0; a look every two seconds, or when there are too many. */
static void pass(struct run *r, unsigned seconds, double rate)
{
	for (uint64_t i = 1; i <= 100 * seconds; i++) {
		r->now += 10 * NS_PER_MS;
		r->exact += rate / 100 / (1u << r->budget.level);
		r->samples = (uint64_t)r->exact;
		if (i % 200 == 0 || r->samples >= keep_budget_alarm(&r->budget))
			r->changes += keep_budget_look(&r->budget, r->now, r->samples);
	}
}

static void within(void **state)
{
	struct run r = run_new(1000);

	(void)state;
	pass(&r, 300, 0);
	pass(&r, 300, 990);
	assert_int_equal(r.changes, 0);
	assert_int_equal(r.budget.level, 0);
}

static void storm(void **state)
{
	struct run r = run_new(1000);
	uint64_t before;

	(void)state;
	/* 100,000 a second take seven levels, and few more than there may be come meanwhile. */
	pass(&r, 5, 100000);
	assert_int_equal(r.budget.level, 7);
	assert_in_range(r.samples, 1, 25000);
	before = r.samples;
	pass(&r, 600, 100000);
	assert_int_equal(r.budget.level, 7);
	assert_in_range(r.samples - before, 1, 600 * 1000);
	/* A level in half a minute, and none up again on the way. */
	r.changes = 0;
	pass(&r, 7 * 34, 10);
	assert_int_equal(r.budget.level, 0);
	assert_int_equal(r.changes, 7);
}

/* A rate that the next finer level would bring near what there may be stays where it is. */
static void no_swinging(void **state)
{
	struct run r = run_new(1000);

	(void)state;
	pass(&r, 10, 1200);
	assert_int_equal(r.budget.level, 1);
	r.changes = 0;
	pass(&r, 600, 1200);
	assert_int_equal(r.changes, 0);
	pass(&r, 60, 900);
	assert_int_equal(r.changes, 0);
	pass(&r, 60, 700);
	assert_int_equal(r.changes, 1);
	assert_int_equal(r.budget.level, 0);
}

/* What comes within a moment is one second's, and one look changes more than one level. */
static void burst(void **state)
{
	struct run r = run_new(1000);

	(void)state;
	assert_false(keep_budget_look(&r.budget, r.now, 1000));
	assert_true(keep_budget_look(&r.budget, r.now + 1, 1000 + 7900));
	assert_int_equal(r.budget.level, 3);
	assert_true(keep_budget_look(&r.budget, r.now + 2, UINT64_MAX / 2));
	assert_int_equal(r.budget.level, KEEP_LEVEL_MAX);
	assert_false(keep_budget_look(&r.budget, r.now + 3, UINT64_MAX - 1));
}

static void filters(void **state)
{
	static const char *const refused[] = {
		"", "unit", "unit=", "comm=", "comm=[", "user=no-such-user-here", "pid=1", "x"};
	struct survey_scope_config scope;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (!keep_filter_parse(refused[i], &scope))
			fail_msg("'%s' was taken", refused[i]);
	}
	assert_int_equal(keep_filter_parse("unit=web", &scope), 0);
	assert_string_equal(scope.unit, "web");
	assert_true(!scope.comm && !scope.cgroup && !scope.container && scope.user == (uid_t)-1);
	assert_int_equal(keep_filter_parse("comm=^a=b$", &scope), 0);
	assert_string_equal(scope.comm, "^a=b$");
	assert_null(scope.unit);
	assert_int_equal(keep_filter_parse("cgroup=/a.slice", &scope), 0);
	assert_string_equal(scope.cgroup, "/a.slice");
	assert_int_equal(keep_filter_parse("container=0123", &scope), 0);
	assert_string_equal(scope.container, "0123");
	assert_int_equal(keep_filter_parse("user=54321", &scope), 0);
	assert_int_equal(scope.user, 54321);
	assert_int_equal(keep_filter_parse("user=root", &scope), 0);
	assert_int_equal(scope.user, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within), cmocka_unit_test(storm),   cmocka_unit_test(no_swinging),
		cmocka_unit_test(burst),  cmocka_unit_test(filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
