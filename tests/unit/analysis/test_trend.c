// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trend rule: by simulation how often it is right, and that its series stays within its memory.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/trend_kinds.h"
#include "user/analysis/trend_series.h"
#include "user/base/util.h"

#define SEEDS	  200
#define MIB	  (1024.0 * 1024)
#define FLOOR_MIB (1024 * 1024)

/* A series of n samples, 1 s apart, judged after `part` of them. */
static void simulate_part(const struct kind *kind, uint64_t seed, size_t n, size_t part,
			  struct trend *out)
{
	struct trend_series *series = trend_series_new();
	double v[MAX_SAMPLES], scale, noise;

	assert_non_null(series);
	assert_true(n <= MAX_SAMPLES);
	seed = seed * 7919 + n;
	scale = log_between(&seed, 32 * MIB, 2048 * MIB);
	noise = log_between(&seed, 0.0005, 0.02);
	kind->make(&seed, n, v);
	for (size_t i = 0; i < part; i++) {
		double value = scale * (v[i] + noise * normal(&seed));

		assert_int_equal(trend_add(series, 1000000000ull * i, (uint64_t)fmax(value, 0)), 0);
	}
	trend_judge(series, FLOOR_MIB, out);
	trend_series_free(series);
}

static void simulate(const struct kind *kind, uint64_t seed, size_t n, struct trend *out)
{
	simulate_part(kind, seed, n, n, out);
}

struct rates {
	double detected, false_alarms; /* percent */
};

static struct rates measure(size_t n)
{
	size_t right = 0, leaks = 0, wrong = 0, benign = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t growing = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct trend trend;

			simulate(&kinds[k], seed, n, &trend);
			growing += trend.kind == TREND_GROWING;
		}
		*(kinds[k].leaks ? &right : &wrong) += growing;
		*(kinds[k].leaks ? &leaks : &benign) += SEEDS;
		print_message("%3zu samples  %-22s growing %5.1f %%\n", n, kinds[k].name,
			      100.0 * (double)growing / SEEDS);
	}
	return (struct rates){100.0 * (double)right / (double)leaks,
			      100.0 * (double)wrong / (double)benign};
}

static void check_rates(size_t n, double min_detected, double max_false)
{
	struct rates rates = measure(n);

	print_message("%3zu samples: detection %.1f %%, false alarms %.2f %%\n", n, rates.detected,
		      rates.false_alarms);
	assert_true(rates.detected >= min_detected);
	assert_true(rates.false_alarms <= max_false);
}

static void rates_at_12(void **state)
{
	(void)state;
	check_rates(12, 35, 4);
}

static void rates_at_30(void **state)
{
	(void)state;
	check_rates(30, 80, 2);
}

static void rates_at_60(void **state)
{
	(void)state;
	check_rates(60, 90, 2);
}

static void rates_at_120(void **state)
{
	(void)state;
	check_rates(120, 95, 2);
}

/* Neighbours have been merged by then. */
static void rates_at_600(void **state)
{
	(void)state;
	check_rates(600, 95, 2);
}

/*
 * Judged after every sample of a watch of 60, as the survey does: a process is looked at often, and
 * one false word is one too many.
 */
static bool ever_leaking(const struct kind *kind, uint64_t seed)
{
	for (size_t n = TREND_LEAK_SAMPLES; n <= 60; n++) {
		struct trend trend;

		simulate_part(kind, seed, 60, n, &trend);
		if (trend.leaking)
			return true;
	}
	return false;
}

static void rates_of_a_whole_watch(void **state)
{
	size_t right = 0, leaks = 0, wrong = 0, benign = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t called = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			called += ever_leaking(&kinds[k], seed);
		print_message("a watch of 60  %-22s ever leaking %5.1f %%\n", kinds[k].name,
			      100.0 * (double)called / SEEDS);
		*(kinds[k].leaks ? &right : &wrong) += called;
		*(kinds[k].leaks ? &leaks : &benign) += SEEDS;
	}
	print_message("a watch of 60: detection %.1f %%, false alarms %.2f %%\n",
		      100.0 * (double)right / (double)leaks,
		      100.0 * (double)wrong / (double)benign);
	assert_true(right * 100 >= leaks * 95);
	assert_true(wrong * 100 <= benign * 3);
}

static void add(struct trend_series *series, size_t i, double value)
{
	assert_int_equal(trend_add(series, 1000000000ull * i, (uint64_t)value), 0);
}

/* The growth per second lies in its interval, about as often as a 95 % interval promises. */
static void growth_and_its_error(void **state)
{
	size_t inside = 0;

	(void)state;
	for (uint64_t run = 1; run <= SEEDS; run++) {
		struct trend_series *series = trend_series_new();
		uint64_t seed = run;
		struct trend trend;

		for (size_t i = 0; i < 40; i++)
			add(series, i, 100 * MIB + 0.25 * MIB * (double)i + MIB * normal(&seed));
		trend_judge(series, FLOOR_MIB, &trend);
		assert_true(trend.growth_known && trend.error_known);
		assert_true(trend.growth_low <= trend.growth && trend.growth <= trend.growth_high);
		assert_true(fabs(trend.growth - 0.25 * MIB) < 0.1 * MIB);
		inside += trend.growth_low <= 0.25 * MIB && 0.25 * MIB <= trend.growth_high;
		trend_series_free(series);
	}
	print_message("the true growth was inside in %zu of %d\n", inside, SEEDS);
	assert_in_range(inside, SEEDS * 90 / 100, SEEDS * 99 / 100);
}

static void words(void **state)
{
	struct trend_series *series[4];
	struct trend trend;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(series); k++)
		series[k] = trend_series_new();
	trend_judge(series[0], FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_TOO_EARLY);
	assert_false(trend.growth_known);
	for (size_t i = 0; i < 40; i++) {
		add(series[0], i, 100 * MIB + 3 * MIB * (double)i);
		add(series[1], i, 400 * MIB - 3 * MIB * (double)i);
		add(series[2], i, 100 * MIB + 10 * MIB * (double)(i % 8));
		add(series[3], i, 100 * MIB + (i < 10 ? 10 * MIB * (double)i : 100 * MIB));
		trend_judge(series[0], FLOOR_MIB, &trend);
		assert_int_equal(trend.kind,
				 i + 1 < TREND_MIN_SAMPLES ? TREND_TOO_EARLY : TREND_GROWING);
		assert_int_equal(trend.leaking, i + 1 >= TREND_LEAK_SAMPLES);
		assert_true((trend_name(trend.kind) != NULL) == (i + 1 >= TREND_MIN_SAMPLES));
	}
	assert_string_equal(trend_name(trend.kind), "growing");
	assert_string_equal(trend.reason, "grew in every third of the watch, low points rise");
	trend_judge(series[1], FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_SHRINKING);
	assert_true(trend.growth < 0);
	trend_judge(series[2], FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_SAWTOOTH);
	trend_judge(series[3], FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_string_equal(trend.reason, "grew earlier, level in the last third of the watch");
	for (size_t k = 0; k < ARRAY_SIZE(series); k++)
		trend_series_free(series[k]);
}

/*
 * A leak that begins in the middle of a long watch is found all the same, and its growth is that of
 * the leak.
 */
static void late_leak(void **state)
{
	struct trend_series *series = trend_series_new();
	struct trend trend;
	size_t i;

	(void)state;
	for (i = 0; i < 4000; i++)
		add(series, i, 100 * MIB);
	trend_judge(series, FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_STEADY);
	for (; i < 8600; i++)
		add(series, i, 100 * MIB + 0.1 * MIB * (double)(i - 4000));
	trend_judge(series, FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_GROWING);
	assert_true(fabs(trend.growth - 0.1 * MIB) < 0.01 * MIB);
	trend_series_free(series);
}

/*
 * Weeks of samples: the memory stays what it is (the sanitizers see it), and what was days ago is
 * forgotten.
 */
static void long_watch(void **state)
{
	struct trend_series *series = trend_series_new();
	double values[24];
	struct trend trend;

	(void)state;
	for (size_t i = 0; i < 60 * 24 * 21; i++)
		assert_int_equal(trend_add(series, 60000000000ull * i,
					   (uint64_t)(i < 60 * 24 ? 10 * MIB : 500 * MIB)),
				 0);
	trend_judge(series, FLOOR_MIB, &trend);
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_int_equal(trend_values(series, values, ARRAY_SIZE(values)), ARRAY_SIZE(values));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_true(values[i] == 500 * MIB);
	trend_series_free(series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_at_12),
		cmocka_unit_test(rates_at_30),
		cmocka_unit_test(rates_at_60),
		cmocka_unit_test(rates_at_120),
		cmocka_unit_test(rates_at_600),
		cmocka_unit_test(rates_of_a_whole_watch),
		cmocka_unit_test(growth_and_its_error),
		cmocka_unit_test(words),
		cmocka_unit_test(late_leak),
		cmocka_unit_test(long_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
