// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Growth that begins at any time: said in time, of the right beginning and pace, and seldom in error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/regime/regime_corpus.h"
#include "tests/unit/regime/regime_runs.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/regime/regime.h"

#define MB 1e6

/*
 * Two days of each series: the young are the hardest. The first corpus has constants that were chosen
 * by some of its seeds; the second has none.
 */
static void false_alarms(void **state)
{
	static const unsigned at_most[] = {[CORPUS_FIRST] = 2, [CORPUS_SECOND] = 7};

	(void)state;
	for (enum corpus corpus = CORPUS_FIRST; corpus <= CORPUS_SECOND; corpus++) {
		struct regime_alarms all = {0};

		for (int kind = 0; kind < CORPUS_KINDS; kind++) {
			struct regime_alarms alarms = regime_run_benign(corpus, kind, 1, 20, 2);

			all.growing += alarms.growing;
			all.leaking += alarms.leaking;
		}
		assert_in_range(all.leaking, 0, at_most[corpus]);
		/* True of warm-ups and ramps while they last; but no series flickers. */
		assert_in_range(all.growing, 0, 1000);
	}
}

/* However long it had been flat before. */
static void flat_time_does_not_matter(void **state)
{
	static const double before_h[] = {0.5, 1, 12, 48};
	double first = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before_h); i++) {
		struct regime_delays d =
			regime_run_leaks(CORPUS_FIRST, LEAK_FLAT, 0.278 * MB, before_h[i], 21);

		first = i ? first : d.growing_s;
		assert_true(fabs(d.growing_s - first) <= 2 * REGIME_RUN_LOOK_S);
		assert_true(d.growing_s <= fmax(2.5 * d.bound_s, 6 * REGIME_RUN_LOOK_S));
		assert_true(d.onset_s <= 30);
		assert_true(d.error <= 0.01);
		assert_true(d.found == 1);
	}
}

/* The interval of the growth, when it is told first and when it is called leaking. */
static void interval_holds_the_truth(void **state)
{
	static const struct {
		enum corpus_leak leak;
		double before_h;
	} rows[] = {{LEAK_FLAT, 12}, {LEAK_WANDERS, 12}, {LEAK_TEETH, 12}, {LEAK_WARM, 12}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct regime_delays d = regime_run_leaks(CORPUS_FIRST, rows[i].leak, 0.278 * MB,
							  rows[i].before_h, 200);

		assert_true(d.inside_growing >= 0.9);
		assert_true(d.inside_leaking >= 0.9);
	}
}

/* Levels do not wait for their buckets when looks come closer: an eighth of the usual time is enough. */
static void closer_looks(void **state)
{
	const uint64_t look_ns = 10 * NS_PER_S, close_ns = look_ns / REGIME_TICKS;
	uint64_t time_ns = 1000 * NS_PER_S, began_ns;
	struct regime_judgement j = {0};
	struct regime r;

	(void)state;
	regime_init(&r, look_ns, MB);
	for (int i = 0; i < 60; i++, time_ns += look_ns)
		regime_add(&r, time_ns, 100 * MB + i % 7 * 1e4);
	began_ns = time_ns - look_ns;
	while (j.word != REGIME_GROWING) {
		regime_add(&r, time_ns,
			   100 * MB + (double)(time_ns - began_ns) / NS_PER_S * 10 * MB);
		regime_judge(&r, 1000 * MB, &j);
		time_ns += close_ns;
		assert_true(time_ns - began_ns < 3 * look_ns);
	}
	assert_true(fabs(j.growth / (10 * MB) - 1) < 0.05);
	assert_true(fabs((double)j.since_ns - (double)began_ns) < (double)look_ns);
}

/* Nobody looked for a while; and looks come late, or early. */
static void uneven_looks(void **state)
{
	struct corpus_random random = {1};
	struct regime_judgement j;
	struct regime r;
	double time_s = 100;

	(void)state;
	regime_init(&r, 10 * NS_PER_S, MB);
	for (int i = 0; i < 400; i++) {
		double late = corpus_uniform(&random, -3, 3);

		regime_add(&r, (uint64_t)((time_s + late) * NS_PER_S), 100 * MB + i % 5 * 1e4);
		regime_judge(&r, INFINITY, &j);
		assert_true(j.word == REGIME_EARLY || j.word == REGIME_LEVEL);
		time_s += i == 200 ? 3600 : 10;
	}
}

/* The same ramp each day is known on the second; a leak that pauses goes on. */
static void given_back(void **state)
{
	struct regime_judgement j;
	struct regime r;
	int told[4] = {0};

	(void)state;
	regime_init(&r, 10 * NS_PER_S, MB);
	for (size_t i = 0; i < 4 * 8640; i++) {
		double t = fmod((double)i * 10, 86400) - 40000;
		double bytes = 500 * MB + (t > 0 && t < 3600 ? 100 * MB * t / 3600 : 0);

		regime_add(&r, (i + 1) * 10 * NS_PER_S, bytes + 1e4 * (double)(i % 3));
		regime_judge(&r, 4000 * MB, &j);
		told[i / 8640] |= j.word >= REGIME_GROWING;
		assert_true(j.word != REGIME_LEAKING);
	}
	assert_true(told[0] && !told[1] && !told[2] && !told[3]);
}

static void steps_are_no_leak(void **state)
{
	struct regime_judgement j;
	struct regime r;

	(void)state;
	regime_init(&r, 10 * NS_PER_S, MB);
	for (int i = 0; i < 400; i++) {
		regime_add(&r, (uint64_t)(i + 1) * 10 * NS_PER_S, (100 + 230 * (i / 100)) * MB);
		regime_judge(&r, 2000 * MB, &j);
		assert_true(j.word < REGIME_GROWING);
	}
	assert_int_equal(j.word, REGIME_STEPS);
	assert_int_equal(j.steps, 3);
	assert_true(fabs(j.grown - 690 * MB) < MB);
	assert_int_equal(j.until_ns, 301 * 10 * NS_PER_S);
}

/* ---- real programs ------------------------------------------------------------------------ */

#define REAL_PROGRAMS "tests/unit/regime/real_programs.txt"

struct real_run {
	double kib, time_s;
	struct regime regime;
	double growing_s;	/* when that was said first after a leak may have begun; 0: never */
	double growth, since_s; /* as it was said last */
	bool leaking;
};

#define LEAKS_FROM_S 720

static void real_look(struct real_run *run)
{
	struct regime_judgement j;

	run->time_s++;
	regime_add(&run->regime, (uint64_t)(run->time_s * NS_PER_S), run->kib * 1024);
	regime_judge(&run->regime, 1000 * MB - run->kib * 1024, &j);
	run->leaking |= j.word == REGIME_LEAKING;
	if (j.word < REGIME_GROWING || run->time_s < LEAKS_FROM_S)
		return;
	if (!run->growing_s)
		run->growing_s = run->time_s;
	run->growth = j.growth;
	run->since_s = (double)j.since_ns / NS_PER_S;
}

static void real_run(struct real_run *run, char *values)
{
	char *rest = NULL, *word = strtok_r(values, " \n", &rest);

	*run = (struct real_run){.kib = strtod(word, NULL)};
	regime_init(&run->regime, NS_PER_S, REGIME_RUN_FLOOR);
	real_look(run);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		long times = *word == '~' ? strtol(word + 1, NULL, 10) : 1;

		run->kib += *word == '~' ? 0 : strtod(word, NULL);
		while (times--)
			real_look(run);
	}
	assert_int_equal((int)run->time_s, 2200);
}

/* redis, node, python, ruby, go, java and php under load: none leaks, but for those that are made to. */
static void real_programs(void **state)
{
	FILE *in = fopen(REAL_PROGRAMS, "re");
	unsigned benign = 0, leaks = 0;
	char *line = NULL;
	size_t room = 0;

	(void)state;
	assert_non_null(in);
	while (getline(&line, &room, in) > 0) {
		char *values = strchr(line, ' ');
		struct real_run run;

		if (*line == '#')
			continue;
		*values++ = '\0';
		real_run(&run, values);
		if (!strstr(line, "_leak")) {
			assert_false(run.leaking);
			benign++;
			continue;
		}
		leaks++;
		assert_true(run.growing_s > 0);
		assert_true(run.growth > 20e3 && run.growth < 400e3);
		/* A heap of chunks no larger than what counts as growth: soon. */
		if (!strcmp(line, "go_leak")) {
			assert_true(run.growing_s <= LEAKS_FROM_S + 90);
			assert_true(fabs(run.since_s - LEAKS_FROM_S) <= 60);
		}
	}
	assert_int_equal(benign, 8);
	assert_int_equal(leaks, 5);
	free(line);
	fclose(in);
}

static void bounded(void **state)
{
	(void)state;
	assert_true(sizeof(struct regime) <= 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(flat_time_does_not_matter),
		cmocka_unit_test(interval_holds_the_truth),
		cmocka_unit_test(closer_looks),
		cmocka_unit_test(uneven_looks),
		cmocka_unit_test(given_back),
		cmocka_unit_test(steps_are_no_leak),
		cmocka_unit_test(real_programs),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
