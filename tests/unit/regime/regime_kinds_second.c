// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The second corpus: other shapes than the first's. No constant of the detector was chosen by it,
 * and none may be: it tells how far the first one can be trusted.
 */
#include <math.h>

#include "tests/unit/regime/regime_kinds.h"

static double chance(struct corpus_random *r)
{
	return corpus_uniform(r, 0, 1);
}

/* Flat, in chunks that an allocator maps, with outliers. */
static void chunked(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double chunk = corpus_log(r, 0.002, 0.05), sd = corpus_log(r, 0.001, 0.02);
	double often = corpus_log(r, 1, 50) / DAY_S * step;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double x = 1 + sd * corpus_normal(r) + (chance(r) < often ? chance(r) : 0);

		v[i] = ceil(x / chunk) * chunk;
	}
}

/* A walk at random between two walls. */
static void walled(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double width = corpus_log(r, 0.02, 0.3), hours = corpus_log(r, 0.2, 12), x = 0;
	double sd = width / sqrt(hours * HOUR_S / step);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		x += sd * corpus_normal(r);
		x = x < 0 ? -x : x > width ? 2 * width - x : x;
		v[i] = 1 + x;
	}
}

/* An S: slow, fast, slow. */
static void logistic(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double middle = corpus_log(r, 120, 8 * HOUR_S), by = corpus_log(r, 0.2, 4);
	double width = middle * corpus_uniform(r, 0.1, 0.4);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by / (1 + exp(-((double)i * step - middle) / width));
}

/* A cache by frequency: what is asked for is known ever more often; flushed now and then. */
static void zipf(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double tau = corpus_log(r, 600, 4 * HOUR_S), by = corpus_log(r, 0.2, 4), t = 0;
	double flushed = corpus_log(r, 0.1, 2) / DAY_S * step, most = log(1 + 30.0);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		v[i] = 1 + by * fmin(log(1 + t / tau) / most, 1);
		t = chance(r) < flushed ? 0 : t + step;
	}
}

/* Fills evenly in three to eight stages, with rests between. */
static void staged(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double full = corpus_log(r, 600, 6 * HOUR_S), by = corpus_log(r, 0.2, 4);
	double stages = floor(corpus_uniform(r, 3, 9)), work = corpus_uniform(r, 0.3, 0.8);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = fmin((double)i * step / full, 1) * stages;

		v[i] = 1 + by * (floor(t) + fmin((t - floor(t)) / work, 1)) / stages;
		if (t >= stages)
			v[i] = 1 + by;
	}
}

/* Teeth of every length, collected in part. */
static void ragged(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double mean = corpus_log(r, 30, 3 * HOUR_S), height = corpus_log(r, 0.05, 0.8), x = 0;
	double end = mean, t = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		t += step;
		x += height * step / mean;
		if (t >= end || x > 2 * height) {
			t = 0;
			x *= corpus_uniform(r, 0, 0.4);
			end = mean * corpus_uniform(r, 0.4, 1.8);
		}
		v[i] = 1 + x;
	}
}

/* A heap in regions: young ones come and go, old ones stay until a threshold brings a collection. */
static void regions(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double region = corpus_log(r, 0.005, 0.05), period = corpus_log(r, 5, 120), young = 0;
	double old = 0, threshold = region * corpus_uniform(r, 8, 60), t = 0;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		t += step;
		young = region * floor(4 * t / period);
		if (t >= period) {
			t = 0;
			old += chance(r) < 0.4 ? region : 0;
			if (old > threshold)
				old = threshold * corpus_uniform(r, 0.1, 0.5);
		}
		v[i] = 1 + old + young;
	}
}

/* Two peaks a day, and quiet weekends. */
static void two_peaks(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.05, 0.8), phase = corpus_uniform(r, 0, DAY_S);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double at = (double)i * step + phase, h = fmod(at, DAY_S) / HOUR_S;
		double day = exp(-pow((h - 11) / 2.5, 2)) + 0.8 * exp(-pow((h - 20) / 2, 2));

		v[i] = 1 + height * day * (fmod(floor(at / DAY_S), 7) < 5 ? 1 : 0.4);
	}
}

/* A table that doubles, a few times in its life. */
static void doubling(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double next = corpus_log(r, 300, 6 * HOUR_S), x = corpus_log(r, 0.01, 0.2);
	int left = (int)corpus_uniform(r, 2, 7);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		if ((double)i * step >= next && left) {
			next *= 2;
			x *= 2;
			left--;
		}
		v[i] = 1 + x;
	}
}

/* Load that follows the day and its own chance; memory follows it with a delay. */
static void loaded(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.1, 1.5), lag = corpus_log(r, 60, HOUR_S), load = 0, x = 0;
	double keep = exp(-step / corpus_log(r, 600, 3 * HOUR_S)), phase = corpus_uniform(r, 0, 7);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double day = 0.5 + 0.5 * sin(phase + 2 * M_PI * (double)i * step / DAY_S);

		load = keep * load + sqrt(1 - keep * keep) * corpus_normal(r);
		x += (fmax(day + 0.3 * load, 0) - x) * (1 - exp(-step / lag));
		v[i] = 1 + height * x;
	}
}

/* Jobs that take memory evenly, each of its own size, and may overlap. */
static void jobs(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double often = corpus_log(r, 2, 60) / DAY_S * step, mean = corpus_log(r, 0.05, 0.8);
	struct {
		double size, length, t;
	} job[8] = {{0}};

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		bool begins = chance(r) < often;

		v[i] = 1;
		for (size_t k = 0; k < 8; k++) {
			if (job[k].t < job[k].length) {
				v[i] += job[k].size * job[k].t / job[k].length;
				job[k].t += step;
			} else if (begins) {
				job[k].size = mean * exp(0.7 * corpus_normal(r));
				job[k].length = corpus_log(r, 120, 2 * HOUR_S);
				job[k].t = 0;
				begins = false;
			}
		}
	}
}

/* Ever slower, by the root of time, and never quite level. */
static void root(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double by = corpus_log(r, 0.05, 0.5);

	(void)restarts;
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + by * sqrt((double)i * step / DAY_S / 7);
}

/* A pool that follows the day: it grows at once, and shrinks late. */
static void pooled(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double each = corpus_log(r, 0.02, 0.2), most = corpus_uniform(r, 4, 20), count = 2,
	       idle = 0;
	double phase = corpus_uniform(r, 0, 7), late = corpus_log(r, 600, 4 * HOUR_S);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = 2 * M_PI * (double)i * step / DAY_S;
		double want = most * (0.55 + 0.45 * sin(phase + t)) + corpus_normal(r);

		idle = want < count - 1 ? idle + step : 0;
		if (want > count + 1)
			count++;
		if (idle > late) {
			count--;
			idle = late * 0.8;
		}
		v[i] = 1 + each * count;
	}
}

/* Crashes, and begins anew. */
static void crashing(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double often = corpus_log(r, 1, 48) / DAY_S * step, by = corpus_log(r, 0.2, 3), t = 0;
	double full = corpus_log(r, 60, 2 * HOUR_S);

	for (size_t i = 0; i < n; i++) {
		if (chance(r) < often) {
			t = 0;
			if (restarts)
				restarts[i] = true;
		}
		v[i] = 1 + by * fmin(t / full, 1);
		t += step;
	}
}

/* One long job a week. */
static void weekly(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double begins = corpus_uniform(r, 0.5, 5) * DAY_S, length = corpus_log(r, 2, 16) * HOUR_S;
	double height = corpus_log(r, 0.2, 2);

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double t = fmod((double)i * step, 7 * DAY_S) - begins;

		v[i] = 1 + (t > 0 && t < length ? height * fmin(1, 1.5 * t / length) : 0);
	}
}

/* A job each hour, of a size that the hour decides. */
static void hourly(struct corpus_random *r, size_t n, double step, double *v, bool *restarts)
{
	double height = corpus_log(r, 0.05, 1), length = corpus_uniform(r, 120, 2400), hour = -1;
	double now = height;

	(void)restarts;
	for (size_t i = 0; i < n; i++) {
		double at = (double)i * step, t = fmod(at, HOUR_S);

		if (floor(at / HOUR_S) > hour)
			now = height * exp(0.4 * corpus_normal(r));
		hour = floor(at / HOUR_S);
		v[i] = 1 + (t < length ? now * t / length : 0);
	}
}

const struct corpus_row corpus_second[CORPUS_KINDS] = {
	{"chunked, with outliers", chunked},
	{"walk between walls", walled},
	{"warm-up, an S", logistic},
	{"cache by frequency", zipf},
	{"filled in stages", staged},
	{"ragged sawtooth", ragged},
	{"heap in regions", regions},
	{"two peaks a day", two_peaks},
	{"doubling table", doubling},
	{"load with a delay", loaded},
	{"jobs that overlap", jobs},
	{"root of time", root},
	{"pool that shrinks late", pooled},
	{"crashes", crashing},
	{"a job a week", weekly},
	{"a job an hour", hourly},
};
