// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The first corpus: constants of the detector were chosen by some of its seeds. */
#include "tests/unit/regime/regime_kinds.h"

#include <math.h>

static void flat(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	(void)r, (void)step, (void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1;
}

static void wandering(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double tau = corpus_log(r, MINUTE_S, 2 * HOUR_S), sd = corpus_log(r, 0.005, 0.05);
	double keep = exp(-step / tau), x = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		x = keep * x + sd * sqrt(1 - keep * keep) * corpus_normal(r);
		v[i] = 1 + x;
	}
}

static void warm_up(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double tau = corpus_log(r, MINUTE_S, 6 * HOUR_S) / 4, by = corpus_log(r, 0.2, 5);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by * (1 - exp(-(double)i * step / tau));
}

static void cache_ever_slower(struct corpus_random *r, size_t n, double step, double *v,
			      bool *restarts)
{
	double full = corpus_log(r, 600, DAY_S), p = corpus_uniform(r, 0.4, 0.8);
	double by = corpus_log(r, 0.2, 5);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by * pow(fmin((double)i * step / full, 1), p);
}

static void cache_at_one_pace(struct corpus_random *r, size_t n, double step, double *v,
			      bool *restarts)
{
	double full = corpus_log(r, MINUTE_S, 2 * HOUR_S), by = corpus_log(r, 0.2, 5);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by * fmin((double)i * step / full, 1);
}

static void sawtooth(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double period = corpus_log(r, 20, 2 * HOUR_S), height = corpus_log(r, 0.05, 1);
	double at = corpus_uniform(r, 0, 1), now = height;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		v[i] = 1 + now * at;
		at += step / period;
		if (at >= 1) {
			at = 0;
			now = height * corpus_uniform(r, 0.85, 1.15);
		}
	}
}

/* Small teeth climb, until a full collection. */
static void generations(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double period = corpus_log(r, 20, 300), height = corpus_log(r, 0.03, 0.2), at = 0, old = 0;
	double promoted = height * corpus_uniform(r, 0.05, 0.3);
	int until = (int)corpus_log(r, 20, 400), count = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		v[i] = 1 + old + height * at;
		at += step / period;
		if (at < 1)
			continue;
		at = 0;
		old += promoted * corpus_uniform(r, 0.5, 1.5);
		if (++count < until)
			continue;
		count = 0;
		old = 0;
		until = (int)fmax(10, until * corpus_uniform(r, 0.9, 1.1));
	}
}

static void daily_wave(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.05, 0.5), phase = corpus_uniform(r, 0, 2 * M_PI), today = 1;
	double day = -1;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = (double)i * step / DAY_S;

		if (floor(t) > day)
			today = corpus_uniform(r, 0.85, 1.15);
		day = floor(t);
		v[i] = 1 + height * today * (1 + sin(phase + 2 * M_PI * t)) / 2;
	}
}

static void steps(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double chance = corpus_log(r, 0.5, 6) / DAY_S * step, x = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		if (corpus_uniform(r, 0, 1) < chance)
			x = corpus_uniform(r, 0, 1) < 0.6 ? x + corpus_log(r, 0.02, 0.5)
							  : x * corpus_uniform(r, 0, 1);
		if (x > 3)
			x = 3 * corpus_uniform(r, 0, 1);
		v[i] = 1 + x;
	}
}

/* Traffic: up within minutes, stays, down as slowly. */
static void ramps(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double chance = corpus_log(r, 1, 6) / DAY_S * step, height = corpus_log(r, 0.1, 1);
	double x = 0, to = 0, speed = 0, hold = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = (double)i * step;

		if (x != to) {
			x = fabs(to - x) <= speed ? to : x + (to > x ? speed : -speed);
		} else if (to > 0 ? t > hold : corpus_uniform(r, 0, 1) < chance) {
			to = to > 0 ? 0 : height * corpus_uniform(r, 0.5, 1.2);
			speed = fabs(to - x) / corpus_log(r, 300, HOUR_S) * step;
			hold = t + corpus_log(r, HOUR_S / 2, 6 * HOUR_S);
		}
		v[i] = 1 + x;
	}
}

static void bursts(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double chance = corpus_log(r, 4, 100) / DAY_S * step, height = corpus_log(r, 0.1, 3);
	double x = 0, to = 0, speed = 0, hold = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = (double)i * step;

		if (x != to) {
			x = fabs(to - x) <= speed ? to : x + speed;
		} else if (to > 0 && t > hold) {
			to = x = 0;
		} else if (to <= 0 && corpus_uniform(r, 0, 1) < chance) {
			to = height * corpus_uniform(r, 0.3, 1.2);
			speed = to / corpus_log(r, 10, 300) * step;
			hold = t + corpus_log(r, 30, 1200);
		}
		v[i] = 1 + x;
	}
}

static void fragmentation(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double by = corpus_log(r, 0.03, 0.15), tau = corpus_log(r, MINUTE_S, HOUR_S);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by * log(1 + (double)i * step / tau);
}

/* Workers come and go, and copy on write moves pages. */
static void workers(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double each_ends = corpus_log(r, 0.005, 0.2) * step / 10, mean = corpus_log(r, 3, 40);
	double each = corpus_log(r, 0.01, 0.1), count = mean;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		count += corpus_uniform(r, 0, 1) < each_ends * mean;
		for (int j = (int)count; j > 0; j--)
			count -= corpus_uniform(r, 0, 1) < each_ends;
		v[i] = 1 + each * count;
	}
}

static void replaced(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double life = corpus_log(r, HOUR_S, 12 * HOUR_S), tau = corpus_log(r, MINUTE_S, HOUR_S) / 4;
	double by = corpus_log(r, 0.2, 3), t = 0;

	for (size_t i = 0; i < n; i++) {
		if (t >= life) {
			t = 0;
			if (restarts)
				restarts[i] = true;
		}
		v[i] = 1 + by * (1 - exp(-t / tau));
		t += step;
	}
}

/* Up in the morning within one or two hours, down in the evening, five days a week. */
static void office_hours(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.1, 1), phase = corpus_uniform(r, 0, DAY_S);
	double up = corpus_uniform(r, HOUR_S, 2 * HOUR_S);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double at = (double)i * step + phase, t = fmod(at, DAY_S), day = floor(at / DAY_S);
		double x = fmin(1, fmax(0, (t - 8 * HOUR_S) / up)) *
			   fmin(1, fmax(0, (18 * HOUR_S + up - t) / up));

		v[i] = 1 + height * x * (fmod(day, 7) < 5);
	}
}

/* Takes memory evenly for ten minutes to two hours each night, and gives it back. */
static void night_job(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.1, 2), length = corpus_log(r, 600, 2 * HOUR_S);
	double begins = corpus_uniform(r, 0, DAY_S - 8000);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = fmod((double)i * step, DAY_S) - begins;

		v[i] = 1 + (t > 0 && t < length ? height * t / length : 0);
	}
}

const struct corpus_row corpus_first[CORPUS_KINDS] = {
	{"flat with noise", flat},
	{"wandering", wandering},
	{"warm-up, exponential", warm_up},
	{"cache, ever slower", cache_ever_slower},
	{"cache, at one pace", cache_at_one_pace},
	{"sawtooth", sawtooth},
	{"generational collector", generations},
	{"daily wave", daily_wave},
	{"steps", steps},
	{"traffic ramps", ramps},
	{"bursts", bursts},
	{"fragmentation", fragmentation},
	{"forked workers", workers},
	{"restarts", replaced},
	{"office hours", office_hours},
	{"night job", night_job},
};
