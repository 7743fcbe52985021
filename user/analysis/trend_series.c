// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/trend_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"

#define MAX_POINTS   120
#define SMALL_POINTS 60
#define HORIZON_S    (2 * 24 * 3600.0)
#define FLOOR_SHARE  0.02 /* of the median: less growth does not count */

#define Z_CONFIDENCE   1.96 /* two-sided 95 % */
#define SLOWDOWN       0.5  /* the last third's slope is at least this part of the first's */
#define STEP_SHARE     0.5  /* one step of the low points is at most this part of their rise */
#define FEW_WINDOWS    4
#define MANY_WINDOWS   6
#define MANY_SAMPLES   18
#define RECENT_SAMPLES 30 /* the later half has so many if it is judged by itself */

#define SAWTOOTH_SHARE 0.3 /* a fall counts from this share of the range on */

/* One sample, or several neighbours merged. */
struct point {
	double time_s; /* since the first sample; mean */
	double value;  /* mean */
	double low;    /* minimum */
};

struct trend_series {
	uint64_t start_ns, samples;
	size_t count, room;
	size_t most;   /* points */
	size_t stride; /* samples that make a point */
	size_t filled; /* samples in `open` */
	struct point open;
	struct point *points;
};

/* ---- the series --------------------------------------------------------------------------- */

static struct trend_series *series_new(size_t most)
{
	struct trend_series *series = calloc(1, sizeof(*series));

	if (series) {
		series->stride = 1;
		series->most = most;
	}
	return series;
}

struct trend_series *trend_series_new(void)
{
	return series_new(MAX_POINTS);
}

struct trend_series *trend_series_new_small(void)
{
	return series_new(SMALL_POINTS);
}

void trend_series_free(struct trend_series *series)
{
	if (!series)
		return;
	free(series->points);
	free(series);
}

static void series_merge_pairs(struct trend_series *s)
{
	for (size_t i = 0; i + 1 < s->count; i += 2) {
		const struct point *a = &s->points[i], *b = &s->points[i + 1];

		s->points[i / 2] = (struct point){
			.time_s = (a->time_s + b->time_s) / 2,
			.value = (a->value + b->value) / 2,
			.low = fmin(a->low, b->low),
		};
	}
	s->count /= 2;
	s->stride *= 2;
}

static int series_make_room(struct trend_series *s)
{
	size_t room = s->room ? 2 * s->room : 15;
	struct point *grown;

	if (s->count == s->most) {
		if (s->points[s->count - 1].time_s - s->points[0].time_s < HORIZON_S) {
			series_merge_pairs(s);
		} else {
			s->count /= 2;
			memmove(s->points, s->points + s->count, s->count * sizeof(*s->points));
		}
	}
	if (s->count < s->room)
		return 0;
	grown = reallocarray(s->points, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->points = grown;
	s->room = room;
	return 0;
}

int trend_add(struct trend_series *s, uint64_t time_ns, uint64_t bytes)
{
	double value = (double)bytes, time_s;
	int err;

	if (!s->samples)
		s->start_ns = time_ns;
	time_s = (double)(time_ns - s->start_ns) / NS_PER_S;
	s->samples++;
	s->open.low = s->filled ? fmin(s->open.low, value) : value;
	s->open.value += value;
	s->open.time_s += time_s;
	if (++s->filled < s->stride)
		return 0;
	s->open.value /= (double)s->filled;
	s->open.time_s /= (double)s->filled;
	err = series_make_room(s);
	if (!err)
		s->points[s->count++] = s->open;
	s->open = (struct point){0};
	s->filled = 0;
	return err;
}

bool trend_changed(const struct trend_series *s)
{
	return s->samples && !s->filled;
}

static double series_lowest(const struct point *p, size_t n)
{
	double low = p[0].low;

	for (size_t i = 1; i < n; i++)
		low = fmin(low, p[i].low);
	return low;
}

bool trend_lows(const struct trend_series *s, double *first, double *last)
{
	size_t third = (s->count + 2) / 3;

	if (!s->count)
		return false;
	*first = series_lowest(s->points, third);
	*last = series_lowest(s->points + s->count - third, third);
	return true;
}

size_t trend_values(const struct trend_series *s, double *values, size_t max)
{
	size_t n = s->count < max ? s->count : max;

	for (size_t i = 0; i < n; i++)
		values[i] = s->points[n > 1 ? i * (s->count - 1) / (n - 1) : s->count - 1].value;
	return n;
}

/* ---- statistics --------------------------------------------------------------------------- */

/*
 * The k-th smallest (from 0) of n values, which are reordered. Hoare's quickselect, pivot in the
 * middle.
 */
static double series_select_kth(double *v, size_t n, size_t k)
{
	size_t left = 0, right = n - 1;

	while (left < right) {
		double pivot = v[left + (right - left) / 2];
		size_t i = left, j = right;

		for (;;) {
			double moved;

			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			moved = v[i];
			v[i++] = v[j];
			v[j--] = moved;
		}
		/* No value up to j is above the pivot, none from j + 1 on is below. */
		if (k <= j)
			right = j;
		else
			left = j + 1;
	}
	return v[k];
}

static double series_median(double *v, size_t n)
{
	return series_select_kth(v, n, n / 2);
}

static double series_median_value(const struct point *p, size_t n)
{
	double values[MAX_POINTS];

	for (size_t i = 0; i < n; i++)
		values[i] = p[i].value;
	return series_median(values, n);
}

struct strictness {
	double z;     /* Mann-Kendall's, for a rise that is no chance */
	double third; /* each third's slope is at least this part of the whole's */
};

static const struct strictness usual = {.z = 2.58 /* one-sided 0.5 % */, .third = 1.0 / 3};
/* For a second look at the same series, or at the possible tail of a warm-up. */
static const struct strictness second_look = {.z = 3.29, .third = 0.6};

struct slopes {
	size_t count;
	double *values; /* of all pairs; reordered by each use */
	double z;	/* Mann-Kendall */
	double sigma;	/* standard deviation of Kendall's S without a trend */
};

/*
 * The slopes between all pairs of points (Theil 1950, Sen 1968), and their Kendall's S. Its
 * variance is corrected for ties (Kendall 1975, as in Gilbert, Statistical Methods for
 * Environmental Pollution Monitoring, 1987, 16.4).
 */
static void series_pair_slopes(const struct point *p, size_t n, struct slopes *out)
{
	double variance = (double)n * (double)(n - 1) * (2.0 * (double)n + 5) / 18;
	bool counted[MAX_POINTS] = {false};
	double s = 0;

	out->count = 0;
	for (size_t i = 0; i < n; i++) {
		double ties = 1;

		for (size_t j = i + 1; j < n; j++) {
			double rise = p[j].value - p[i].value, run = p[j].time_s - p[i].time_s;

			s += (rise > 0) - (rise < 0);
			if (rise == 0 && !counted[i]) {
				counted[j] = true;
				ties++;
			}
			if (run > 0)
				out->values[out->count++] = rise / run;
		}
		if (ties > 1)
			variance -= ties * (ties - 1) * (2 * ties + 5) / 18;
	}
	out->sigma = sqrt(fmax(variance, 0));
	out->z = out->sigma > 0 && s != 0 ? (s > 0 ? s - 1 : s + 1) / out->sigma : 0;
}

static double series_theil_sen(const struct point *p, size_t n, double *room)
{
	struct slopes slopes = {.values = room};

	series_pair_slopes(p, n, &slopes);
	return slopes.count ? series_median(slopes.values, slopes.count) : 0;
}

/* ---- the rule ----------------------------------------------------------------------------- */

/*
 * Does each third rise at a similar pace, and the last one as fast as the first? A series that
 * slows down is filling up.
 */
static bool series_thirds_rise(const struct point *p, size_t n, double min_slope, double *room)
{
	double slopes[3];

	for (size_t i = 0; i < 3; i++) {
		size_t start = i * n / 3, end = (i + 1) * n / 3;

		slopes[i] = series_theil_sen(p + start, end - start, room);
		if (slopes[i] < min_slope)
			return false;
	}
	return slopes[2] >= SLOWDOWN * slopes[0];
}

/*
 * Do the low points of windows rise? A sawtooth's teeth hide a rise and feign one; memory that is
 * always there does neither.
 */
static bool series_lows_rise(const struct point *p, size_t n, double floor)
{
	size_t windows = n < MANY_SAMPLES ? FEW_WINDOWS : MANY_WINDOWS;
	double lows[MANY_WINDOWS] = {0}, rise, step = 0;

	for (size_t w = 0; w < windows; w++) {
		size_t start = w * n / windows, end = (w + 1) * n / windows;

		lows[w] = series_lowest(p + start, end - start);
		if (w)
			step = fmax(step, lows[w] - lows[w - 1]);
	}
	rise = lows[windows - 1] - lows[0];
	return rise >= floor && lows[windows - 1] > lows[windows - 2] && step <= STEP_SHARE * rise;
}

/*
 * In a short watch a ramp that has just ended looks like one that goes on: the last two steps must
 * be part of it.
 */
static bool series_goes_on(const struct point *p, size_t n, double slope)
{
	const struct point *last = &p[n - 1], *before = &p[n - 3];

	return n >= TREND_LEAK_SAMPLES ||
	       last->value - before->value >= SLOWDOWN * slope * (last->time_s - before->time_s);
}

static bool series_grows(const struct point *p, size_t n, double floor,
			 const struct strictness *strict, double *room)
{
	struct slopes slopes = {.values = room};
	double slope;

	/* The cheap test first: most series end here. */
	if (!series_lows_rise(p, n, floor))
		return false;
	series_pair_slopes(p, n, &slopes);
	if (slopes.z <= strict->z || !slopes.count)
		return false;
	slope = series_median(slopes.values, slopes.count);
	return slope * (p[n - 1].time_s - p[0].time_s) >= floor &&
	       series_thirds_rise(p, n, strict->third * slope, room) && series_goes_on(p, n, slope);
}

/* Turns the series upside down, so that a shrinking one grows. */
static void series_turn_over(const struct point *p, size_t n, struct point *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (struct point){p[i].time_s, -p[i].value, -p[i].value};
}

/* How often the series falls by a good part of its range and comes back. */
static unsigned series_count_falls(const struct point *p, size_t n, double range)
{
	double high = p[0].value, low = p[0].value;
	bool falling = false;
	unsigned falls = 0;

	for (size_t i = 1; i < n; i++) {
		double v = p[i].value;

		if (!falling && v > high)
			high = v;
		else if (!falling && high - v > SAWTOOTH_SHARE * range) {
			falling = true;
			low = v;
		} else if (falling && v < low)
			low = v;
		else if (falling && v - low > SAWTOOTH_SHARE * range) {
			falling = false;
			high = v;
			falls++;
		}
	}
	return falls + falling;
}

static void series_value_range(const struct point *p, size_t n, double *min, double *max)
{
	*min = *max = p[0].value;
	for (size_t i = 1; i < n; i++) {
		*min = fmin(*min, p[i].value);
		*max = fmax(*max, p[i].value);
	}
}

static void series_judge_steady(const struct point *p, size_t n, double floor, struct trend *out)
{
	double early_min, early_max, late_min, late_max;
	size_t third = n / 3;

	out->kind = TREND_STEADY;
	series_value_range(p, n - third, &early_min, &early_max);
	series_value_range(p + n - third, third, &late_min, &late_max);
	if (late_max - late_min < floor && late_min - early_min >= floor)
		out->reason = "grew earlier, level in the last third of the watch";
	else if (late_max <= early_max + floor)
		out->reason = "goes up and down, no higher lately than before";
	else
		out->reason = "grew, but not in every third of the watch at a similar pace";
}

/* Returns the first point of the judged part. */
static size_t series_judge_kind(const struct trend_series *s, double range, double floor,
				double *room, struct trend *out)
{
	const struct point *p = s->points;
	struct point turned[MAX_POINTS] = {0};
	size_t n = s->count, later = n / 2, start = 0;

	if (series_grows(p, n, floor, &usual, room)) {
		out->kind = TREND_GROWING;
		out->reason = "grew in every third of the watch, low points rise";
	} else if (n - later >= RECENT_SAMPLES &&
		   series_grows(p + later, n - later, floor, &second_look, room)) {
		out->kind = TREND_GROWING;
		out->reason = "grew in every third of the later half of the watch, low points rise";
		start = later;
	} else {
		series_turn_over(p, n, turned);
		if (series_grows(turned, n, floor, &usual, room)) {
			out->kind = TREND_SHRINKING;
			out->reason = "shrank in every third of the watch";
		} else if (series_count_falls(p, n, range) >= 2) {
			out->kind = TREND_SAWTOOTH;
			out->reason = "falls back again and again, low points do not rise";
		} else {
			series_judge_steady(p, n, floor, out);
		}
	}
	out->leaking = out->kind == TREND_GROWING && n - start >= TREND_LEAK_SAMPLES;
	return start;
}

/* Sen's estimate, with a confidence interval from Kendall's variance (Gilbert 1987, 16.5). */
static void series_estimate_growth(const struct point *p, size_t n, double *room, struct trend *out)
{
	struct slopes slopes = {.values = room};
	double margin, low, high;

	series_pair_slopes(p, n, &slopes);
	if (!slopes.count)
		return;
	out->growth_known = true;
	out->growth = series_median(slopes.values, slopes.count);
	margin = Z_CONFIDENCE * slopes.sigma;
	low = ((double)slopes.count - margin) / 2;
	high = ((double)slopes.count + margin) / 2;
	if (low < 0 || high > (double)slopes.count - 1)
		return;
	out->error_known = true;
	out->growth_low = series_select_kth(slopes.values, slopes.count, (size_t)low);
	out->growth_high = series_select_kth(slopes.values, slopes.count, (size_t)high);
}

/*
 * The line through the medians of the outer thirds (Tukey 1977), for a series that is too flat to
 * be worth all pairs.
 */
static void series_estimate_quickly(const struct point *p, size_t n, struct trend *out)
{
	size_t third = (n + 2) / 3;
	double run = p[n - 1].time_s + p[n - third].time_s - p[third - 1].time_s - p[0].time_s;

	if (n < 2 || run <= 0)
		return;
	out->growth_known = true;
	out->growth = 2 *
		      (series_median_value(p + n - third, third) - series_median_value(p, third)) /
		      run;
}

void trend_judge(const struct trend_series *s, uint64_t floor_bytes, struct trend *out)
{
	static const size_t pairs = (size_t)MAX_POINTS * (MAX_POINTS - 1) / 2;
	_cleanup_free_ double *room = NULL;
	double floor, min, max;
	size_t start = 0;

	*out = (struct trend){.kind = TREND_TOO_EARLY, .reason = "too few samples for a judgement"};
	if (s->count < 2)
		return;
	floor = fmax((double)floor_bytes, FLOOR_SHARE * series_median_value(s->points, s->count));
	series_value_range(s->points, s->count, &min, &max);
	if (max - min < floor) {
		series_estimate_quickly(s->points, s->count, out);
		if (s->count >= TREND_MIN_SAMPLES) {
			out->kind = TREND_STEADY;
			out->reason = "changed by less than what counts as growth";
		}
		return;
	}
	room = malloc(pairs * sizeof(*room));
	if (!room)
		return;
	if (s->count >= TREND_MIN_SAMPLES)
		start = series_judge_kind(s, max - min, floor, room, out);
	series_estimate_growth(s->points + start, s->count - start, room, out);
}
