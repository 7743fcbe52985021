// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes over time: who is who, who has ended, who is the most suspect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/look/history.h"

#define MIB (1024 * 1024ull)

static struct process_sample process(pid_t pid, uint64_t start, uint64_t anon)
{
	return (struct process_sample){.pid = pid,
				       .ppid = 1,
				       .start_ticks = start,
				       .threads = 1,
				       .comm = "p",
				       .anon = anon};
}

static size_t released;

static void release(void *user_data)
{
	assert_non_null(user_data);
	released++;
}

static double left(struct history_process *process)
{
	return 190.0 * MIB - (double)process_bytes(&process->now);
}

/* Of one name, in one place. */
static uint64_t lineage(struct history_process *process)
{
	return (uint64_t)process->now.comm[0];
}

static const struct history_hooks hooks = {release, left, lineage};

static void update(struct history *h, uint64_t second, struct process_sample *items, size_t count)
{
	struct process_list list = {.items = items, .count = count};

	assert_int_equal(history_update(h, second * 1000000000ull, &list), 0);
}

static void ranking(void **state)
{
	struct history *h = history_new(NS_PER_S, &hooks);
	struct history_process *const *ranked;
	size_t count;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		struct process_sample now[] = {
			process(10, 5, 900 * MIB),
			process(11, 6, 20 * MIB + i * MIB),
			process(12, 7, 50 * MIB + (i % 5) * 10 * MIB),
			process(13, 8, 20 * MIB + 3 * i * MIB),
			process(14, 9, 4 * MIB),
		};

		now[4].swap = i * MIB / 2; /* swapped out is leaked all the same */
		update(h, i, now, ARRAY_SIZE(now));
	}
	ranked = history_ranked(h, &count);
	assert_int_equal(count, 5);
	assert_int_equal(ranked[0]->now.pid, 13);
	assert_int_equal(ranked[1]->now.pid, 11);
	assert_int_equal(ranked[2]->now.pid, 14);
	assert_int_equal(ranked[3]->now.pid, 10);
	assert_int_equal(ranked[4]->now.pid, 12);
	assert_true(ranked[0]->trend.leaking);
	assert_int_equal(ranked[2]->trend.kind, TREND_GROWING);
	assert_int_equal(ranked[3]->trend.kind, TREND_STEADY);
	assert_int_equal(ranked[4]->trend.kind, TREND_SAWTOOTH);
	assert_int_equal(ranked[0]->low_then, 20 * MIB);
	assert_int_equal(ranked[0]->low_now, (20 + 3 * 26) * MIB);
	assert_int_equal(history_find(h, 11)->samples, 40);
	assert_null(history_find(h, 15));
	history_free(h);
}

/* The watch as a whole is level: what began lately is told all the same, and how fast it is now. */
static void late_growth(void **state)
{
	struct history *h = history_new(NS_PER_S, &hooks);
	const struct history_process *p = NULL;
	uint64_t i = 0;

	(void)state;
	for (; i < 2000; i++) {
		struct process_sample now = process(10, 5, 100 * MIB + i % 3 * 4096);

		update(h, i, &now, 1);
		p = history_find(h, 10);
		assert_true(p->trend.kind == TREND_TOO_EARLY || p->trend.kind == TREND_STEADY);
		assert_true(p->trend.growth == 0 || p->trend.kind == TREND_TOO_EARLY);
	}
	for (; i < 2006; i++) {
		struct process_sample now = process(10, 5, 100 * MIB + (i - 1999) * MIB);

		update(h, i, &now, 1);
	}
	assert_int_equal(p->trend.kind, TREND_GROWING);
	assert_true(p->trend.growth > 0.9 * MIB && p->trend.growth < 1.1 * MIB);
	assert_true(p->growth.limit_known);
	assert_true(p->growth.limit_s > 75 && p->growth.limit_s < 95);
	assert_true(history_is_urgent(h, 600));
	assert_false(history_is_urgent(h, 60));
	assert_in_range(p->growth.since_ns / NS_PER_S, 1995, 2001);
	assert_in_range(p->growth.level_before_ns / NS_PER_S, 1990, 2001);
	history_free(h);
}

/* One jump that would fill its memory soon, if it went on: what follows is looked at more closely. */
static void closer_looks(void **state)
{
	struct history *h = history_new(8 * NS_PER_S, &hooks);
	struct process_list list = {.count = 1};
	const struct history_process *p;
	struct process_sample now;
	uint64_t ns = 0, looks = 0;

	(void)state;
	for (; ns < 800 * NS_PER_S; ns += 8 * NS_PER_S) {
		now = process(10, 5, 50 * MIB + ns % 3 * 4096);
		list.items = &now;
		assert_int_equal(history_update(h, ns, &list), 0);
	}
	assert_false(history_is_urgent(h, 600));
	now.anon += 24 * MIB;
	assert_int_equal(history_update(h, ns, &list), 0);
	assert_true(history_is_urgent(h, 600));
	p = history_find(h, 10);
	while (p->trend.kind != TREND_GROWING) {
		ns += NS_PER_S;
		now.anon += 3 * MIB;
		assert_int_equal(history_look_closer(h, ns, &list), 0);
		assert_true(++looks <= 9);
	}
	assert_int_equal(p->samples, 101); /* looks in between are no looks */
	history_free(h);
}

/* The next process of the program fills its cache as the last one did: that is known of it. */
static void heirs(void **state)
{
	bool told[2] = {false, false};
	struct history *h = history_new(NS_PER_S, &hooks);

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t life = i / 1000, age = i % 1000;
		struct process_sample now =
			process((pid_t)(10 + life), 5, 20 * MIB + (age < 60 ? age : 60) * MIB);

		update(h, i, &now, 1);
		told[life] |= age > 20 && history_find(h, now.pid)->trend.kind == TREND_GROWING;
	}
	assert_true(told[0]);
	assert_false(told[1]);
	history_free(h);
}

/* The pid of one that has ended is given to another one; the old one is told of once. */
static void pids_are_reused(void **state)
{
	struct history *h = history_new(NS_PER_S, &hooks);
	struct process_sample first = process(10, 5, 7 * MIB), second = process(10, 9, MIB);
	struct history_process *const *ranked;
	size_t count;

	(void)state;
	released = 0;
	update(h, 0, &first, 1);
	history_find(h, 10)->user_data = &first;
	update(h, 1, &first, 1);
	update(h, 2, &second, 1);
	ranked = history_ranked(h, &count);
	assert_int_equal(count, 2);
	assert_true(ranked[0]->ended);
	assert_int_equal(ranked[0]->now.start_ticks, 5);
	assert_int_equal(ranked[0]->samples, 2);
	assert_false(ranked[1]->ended);
	assert_int_equal(history_find(h, 10)->samples, 1);
	assert_null(history_find(h, 10)->user_data);
	assert_int_equal(released, 0);
	update(h, 3, NULL, 0);
	assert_int_equal(released, 1);
	assert_null(history_find(h, 10));
	history_ranked(h, &count);
	assert_int_equal(count, 1);
	update(h, 4, NULL, 0);
	history_ranked(h, &count);
	assert_int_equal(count, 0);
	history_free(h);
}

/* A server that forks a worker per job; each lives eight intervals. */
static void run_workers(struct history *h, uint64_t growth)
{
	for (uint64_t i = 0; i < 60; i++) {
		struct process_sample now[] = {
			process(10, 5, 30 * MIB),
			process((pid_t)(100 + i / 8), 1000 + i / 8,
				10 * MIB + (i % 8 ? 5 * MIB : 0) + (i % 8) * growth),
		};

		now[1].ppid = 10;
		update(h, i, now, ARRAY_SIZE(now));
	}
}

static void children(void **state)
{
	struct history *h = history_new(NS_PER_S, &hooks);
	const struct history_process *p;
	double values[8];

	(void)state;
	run_workers(h, 2 * MIB);
	p = history_find(h, 10);
	assert_int_equal(p->children_exited, 7);
	assert_int_equal(p->trend.kind, TREND_GROWING);
	assert_true(p->of_children);
	assert_false(p->trend.leaking);
	assert_string_equal(p->trend.reason, "its children grow until they exit");
	assert_int_equal(history_values(p, values, ARRAY_SIZE(values)), ARRAY_SIZE(values));
	assert_true(values[7] > values[0]);
	history_free(h);

	/* Those that take what they need at their start and no more are no leak. */
	h = history_new(NS_PER_S, &hooks);
	run_workers(h, 0);
	p = history_find(h, 10);
	assert_int_equal(p->children_exited, 7);
	assert_int_equal(p->trend.kind, TREND_STEADY);
	history_free(h);
}

static void bounded(void **state)
{
	static struct process_sample many[HISTORY_MAX + 10];
	struct history *h = history_new(NS_PER_S, &hooks);
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = process((pid_t)i + 1, 1, MIB);
	update(h, 0, many, ARRAY_SIZE(many));
	assert_int_equal(history_left_out(h), 10);
	history_ranked(h, &count);
	assert_int_equal(count, HISTORY_MAX);
	history_free(h);
}

/* 500 processes, a fifth of them busy: what an interval costs. */
static void cost(void **state)
{
	static struct process_sample now[500];
	struct history *h = history_new(NS_PER_S, &hooks);
	struct timespec start, end;
	double seconds;
	size_t count;

	(void)state;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (uint64_t t = 0; t < 300; t++) {
		for (size_t i = 0; i < ARRAY_SIZE(now); i++)
			now[i] = process((pid_t)i + 1, 1,
					 50 * MIB + (i % 5 ? 0 : (t * 7919 * i) % (400 * 1024)) +
						 (i % 50 ? 0 : (t * 7919 * i) % (20 * MIB)));
		update(h, t, now, ARRAY_SIZE(now));
		history_ranked(h, &count);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	/* Half a percent of a CPU at an interval of a second. */
	assert_true(seconds / 300 < 0.005);
	print_message("500 processes: %.2f ms an interval\n", 1e3 * seconds / 300);
	history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranking),	cmocka_unit_test(pids_are_reused),
		cmocka_unit_test(children),	cmocka_unit_test(bounded),
		cmocka_unit_test(cost),		cmocka_unit_test(late_growth),
		cmocka_unit_test(closer_looks), cmocka_unit_test(heirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
