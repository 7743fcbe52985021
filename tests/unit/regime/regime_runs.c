// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/regime/regime_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/regime/regime.h"

#define LOOK_S	REGIME_RUN_LOOK_S
#define LOOK_NS ((uint64_t)(LOOK_S * NS_PER_S))
#define DAY_S	86400.0
#define DAYS	8 /* that a leak is waited for */

static void run_begin(struct regime *r)
{
	regime_init(r, LOOK_NS, REGIME_RUN_FLOOR);
}

static struct regime_judgement run_look(struct regime *r, size_t i, double bytes, double limit)
{
	struct regime_judgement j;

	regime_add(r, (i + 1) * LOOK_NS, bytes);
	regime_judge(r, limit - bytes, &j);
	return j;
}

static void *run_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

struct regime_alarms regime_run_benign(enum corpus corpus, int kind, uint64_t from, uint64_t to,
				       unsigned days)
{
	size_t n = (size_t)(days * DAY_S / LOOK_S);
	struct corpus_series s = {.n = n, .step_s = LOOK_S};
	struct regime_alarms alarms = {0};
	struct regime_legacy before;
	struct regime r;

	s.bytes = run_alloc(n, sizeof(*s.bytes));
	s.restarts = run_alloc(n, sizeof(*s.restarts));
	for (uint64_t seed = from; seed <= to; seed++) {
		enum regime_word last = REGIME_EARLY;

		corpus_make(corpus, kind, seed, &s);
		run_begin(&r);
		for (size_t i = 0; i < n; i++) {
			struct regime_judgement j;

			if (s.restarts[i]) {
				regime_leave(&r, &before);
				run_begin(&r);
				regime_inherit(&r, &before);
				last = REGIME_EARLY;
			}
			j = run_look(&r, i, s.bytes[i], s.limit);
			alarms.growing += j.word >= REGIME_GROWING && last < REGIME_GROWING;
			alarms.leaking += j.word == REGIME_LEAKING && last != REGIME_LEAKING;
			last = j.word;
		}
	}
	free(s.bytes);
	free(s.restarts);
	return alarms;
}

/* ---- leaks -------------------------------------------------------------------------------- */

/* Of each seed, as far as it was found. */
struct run_results {
	double *growing_s, *leaking_s, *bound_s, *room, *onset_s, *error;
	unsigned seeds, growing, leaking, inside_growing, inside_leaking;
};

static int run_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double run_median(double *values, unsigned known, unsigned n, double unknown)
{
	for (unsigned i = known; i < n; i++)
		values[i] = unknown;
	if (!n)
		return unknown;
	qsort(values, n, sizeof(*values), run_compare);
	return values[n / 2];
}

static double run_bound(const struct corpus_series *s, double rate)
{
	double noise = s->noise * s->base;
	double floor = fmax(REGIME_RUN_FLOOR, 0.01 * s->base) / rate;

	return fmax(cbrt(96 * noise * noise * LOOK_S / (rate * rate)), fmax(LOOK_S, floor));
}

static void run_leak(enum corpus_leak leak, double rate, size_t start, uint64_t seed,
		     const struct corpus_series *s, struct run_results *out)
{
	struct corpus_random random = {seed * 31 + 5};
	double room = s->base * corpus_log(&random, 0.5, 10), max = 0, grown = 0, limit;
	bool told = false;
	struct regime r;

	for (size_t i = 0; i < s->n; i++)
		max = fmax(max, s->bytes[i]);
	limit = max + room;
	run_begin(&r);
	for (size_t i = 0; i < s->n; i++) {
		double since = ((double)i - (double)start) * LOOK_S;
		struct regime_judgement j;
		bool inside;

		if (i >= start)
			grown += corpus_leaks(leak, &random, rate, since, LOOK_S);
		if (s->bytes[i] + grown > limit)
			return;
		j = run_look(&r, i, s->bytes[i] + grown, limit);
		if (i < start || j.word < REGIME_GROWING)
			continue;
		inside = j.growth_low <= rate && rate <= j.growth_high;
		if (!told) {
			out->inside_growing += inside;
			out->growing_s[out->growing++] = since + LOOK_S;
			told = true;
		}
		if (j.word != REGIME_LEAKING)
			continue;
		out->inside_leaking += inside;
		out->room[out->leaking] = grown / room;
		out->error[out->leaking] = fabs(j.growth / rate - 1);
		out->onset_s[out->leaking] =
			fabs((double)j.since_ns / NS_PER_S - (double)start * LOOK_S);
		out->leaking_s[out->leaking++] = since + LOOK_S;
		return;
	}
}

struct regime_delays regime_run_leaks(enum corpus corpus, enum corpus_leak leak, double rate,
				      double before_h, unsigned seeds)
{
	size_t start = (size_t)(before_h * 3600 / LOOK_S);
	size_t n = start + (size_t)fmin(DAYS * DAY_S, (leak == LEAK_NIGHTS ? 9e10 : 3e10) / rate) /
				   (size_t)LOOK_S;
	struct corpus_series s = {.n = n, .step_s = LOOK_S};
	double *room = run_alloc(6 * (size_t)seeds, sizeof(double));
	struct run_results out = {.seeds = seeds};
	double **const all[] = {&out.growing_s, &out.leaking_s, &out.bound_s,
				&out.room,	&out.onset_s,	&out.error};
	struct regime_delays d;

	for (size_t i = 0; i < 6; i++)
		*all[i] = room + i * seeds;
	s.bytes = run_alloc(n, sizeof(*s.bytes));
	for (unsigned seed = 1; seed <= seeds; seed++) {
		corpus_make_below(corpus, leak, seed, &s);
		out.bound_s[seed - 1] = run_bound(&s, rate);
		run_leak(leak, rate, start, seed, &s, &out);
	}
	d = (struct regime_delays){
		.growing_s = run_median(out.growing_s, out.growing, seeds, INFINITY),
		.leaking_s = run_median(out.leaking_s, out.leaking, seeds, INFINITY),
		.bound_s = run_median(out.bound_s, seeds, seeds, 0),
		.room = run_median(out.room, out.leaking, seeds, 1),
		.onset_s = run_median(out.onset_s, out.leaking, out.leaking, 0),
		.error = run_median(out.error, out.leaking, out.leaking, 0),
		.found = (double)out.growing / seeds,
		.inside_growing = (double)out.inside_growing / fmax(out.growing, 1),
		.inside_leaking = (double)out.inside_leaking / fmax(out.leaking, 1),
	};
	free(room);
	free(s.bytes);
	return d;
}
