// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/regime/regime.h"

#include <math.h>
#include <string.h>

#include "user/regime/regime_slope.h"

#define S_PER_NS 1e-9
#define HOUR_S	 3600.0

#define FLOOR_SHARE 0.01f /* of the series: less is no growth */

/* A rise is new from so many times the largest one known. */
#define NOVELTY	      1.5 /* at a height where it has never been */
#define NOVELTY_BELOW 3.0
#define NOVELTY_FEW   3.0 /* added, divided by how many blocks of buckets have been seen */

#define STEP_SHARE 0.02f /* of the height: less is no step */
#define STEP_LOOKS 3	 /* two that are closer are one */

#define LOOKS_MIN (2 * REGIME_TEST) /* before that it is too early */

/* Growth has ended when its last quarter rose by less than that of what was due, or is that much slower. */
#define DUE_SHARE  0.3
#define PACE_ENDED 0.25f
#define PACE_FILLS 0.5f
#define PACE_ANEW  3.0f /* so much faster lately: what matters began later */

/* Leaking: growth has lasted for that share of the time that is left. */
#define PATIENCE_YOUNG 1.5 /* of a series known for less than YOUNG_S at its onset */
#define PATIENCE_KNOWN 0.2 /* known for KNOWN_S; in between, evenly over the orders of magnitude */
#define PATIENCE_BIRTH 2.0 /* of growth since the start */
#define YOUNG_S	       (26 * HOUR_S)
#define KNOWN_S	       (60 * HOUR_S)
/* Or, far from any limit, for so long and evenly. */
#define LASTING_S	(14 * HOUR_S)
#define LASTING_BIRTH_S (40 * HOUR_S)
#define LASTING_PACE	0.6f
#define LASTING_PACE_TO 2.5f
#define GIVEN_BACK	1.5f /* times the largest rise that was given back */
#define PARTS_MIN	5.0f
#define HELD_S		300.0 /* the word stands for so long when growth pauses */

#define GENERATION_S (4 * 24 * HOUR_S)
/* While it is young, memory is short: a warm-up shall not hide what comes after it. */
#define GENERATION_FIRST_LOOKS 32
#define GENERATION_YOUNG_S     5120.0

void regime_init(struct regime *r, uint64_t look_ns, double floor)
{
	*r = (struct regime){.tick_ns = look_ns / REGIME_TICKS ?: 1, .floor = (float)floor};
	for (int k = 0; k < REGIME_LEVELS; k++)
		r->levels.level[k].open = INFINITY;
}

void regime_leave(const struct regime *r, struct regime_legacy *legacy)
{
	memcpy(legacy->rise_before, r->rise_before, sizeof(legacy->rise_before));
	legacy->birth_rise = r->birth_rise;
	legacy->known_for = r->known_for + r->levels.tick;
	for (int k = 0; k < REGIME_LEVELS; k++)
		memcpy(legacy->rise[k], &r->levels.level[k].rise[REGIME_KNOWN],
		       sizeof(legacy->rise[k]));
}

void regime_inherit(struct regime *r, const struct regime_legacy *legacy)
{
	memcpy(r->rise_before, legacy->rise_before, sizeof(r->rise_before));
	r->birth_rise = legacy->birth_rise;
	r->known_for = legacy->known_for;
	for (int k = 0; k < REGIME_LEVELS; k++)
		memcpy(&r->levels.level[k].rise[REGIME_KNOWN], legacy->rise[k],
		       sizeof(legacy->rise[k]));
}

static double regime_ticks(const struct regime *r, double seconds)
{
	return seconds / ((double)r->tick_ns * S_PER_NS);
}

static float regime_width(int level)
{
	return (float)(1u << level);
}

static uint32_t regime_age(const struct regime *r)
{
	return r->levels.tick - r->onset;
}

/* ---- the growth that is open -------------------------------------------------------------- */

/* By how much the slope may be that of what the series has been seen to do without growing. */
static float regime_wander(const struct regime *r, int level, int n)
{
	return regime_levels_known(&r->levels, level) / (float)(n - 1);
}

static void regime_take_slope(struct regime *r, int level, const float *lows, int n)
{
	float width = regime_width(level), wander = regime_wander(r, level, n);
	struct regime_slope slope;

	regime_slope_of(lows, n, &slope);
	r->slope = slope.mid / width;
	r->slope_low = fminf(slope.low, slope.mid - wander) / width;
	r->slope_high = fmaxf(slope.high, slope.mid + wander) / width;
}

static void regime_measure(struct regime *r)
{
	int n, k = regime_levels_fit(&r->levels, regime_age(r), &n), third;
	const float *v = regime_level_lows(&r->levels.level[k], n);
	float first, last;

	r->pace = 1;
	if (n < 4)
		return;
	regime_take_slope(r, k, v, n);
	third = n / 3 > 1 ? n / 3 : 1;
	first = v[third] - v[0];
	last = v[n - 1] - v[n - 1 - third];
	if (n >= 6)
		r->pace = first > 0 ? last / first : 9;
}

static bool regime_has_ended(const struct regime *r)
{
	double age = regime_age(r);
	double part = fmin(fmax(age / 4, REGIME_TICKS * REGIME_TEST * 1.5), age);
	int n, k = regime_levels_fit(&r->levels, part, &n);
	const float *v;

	if (n < 3)
		return false;
	v = regime_level_lows(&r->levels.level[k], n);
	return v[n - 1] - v[0] < DUE_SHARE * r->slope * (float)(n - 1) * regime_width(k);
}

/* It is known as harmless only when it has been given back: a leak may pause. */
static void regime_close(struct regime *r)
{
	uint32_t tick = r->levels.tick;

	if (r->leaking)
		r->held_until = tick + (uint32_t)fmin(regime_age(r), regime_ticks(r, HELD_S));
	r->open = r->leaking = false;
	r->pending = true;
	r->grown_until = tick;
	if (!r->settled_at) {
		r->settled_at = tick;
		r->birth_rise = r->rise_max;
	}
	regime_levels_hold(&r->levels);
}

static void regime_give_back(struct regime *r)
{
	r->pending = false;
	r->held_until = 0;
	r->rise_before[0] = fmaxf(r->rise_before[0], r->rise_max);
	regime_levels_give_back(&r->levels);
}

/* The mean of the lows before the last `after` ones; false: there are too few. */
static bool regime_level_before(const struct regime_level *l, int after, float *mean)
{
	int n = regime_level_kept(l) - after;

	*mean = 0;
	for (int i = 0; i < n; i++)
		*mean += l->low[i] / (float)n;
	return n > 0;
}

/*
 * Where the line of the tested lows meets the level of those before. Buckets that are shorter than
 * a look have none before.
 */
static bool regime_find_onset(struct regime *r, int level)
{
	bool is_short = level < REGIME_LOOK;
	const float *v = regime_level_lows(&r->levels.level[level], REGIME_TEST);
	float width = regime_width(level), mean = 0, before, back;
	/* Both the last look's bucket and the one before it may overlap short ones. */
	float most = (is_short ? REGIME_TEST * width + 2 * REGIME_TICKS : REGIME_RING * width);

	if (!regime_level_before(&r->levels.level[is_short ? REGIME_LOOK : level],
				 is_short ? 2 : REGIME_TEST, &before))
		return false;
	for (int i = 0; i < REGIME_TEST; i++)
		mean += v[i] / REGIME_TEST;
	back = (mean - before) / r->slope + (REGIME_TEST - 1) / 2.0f * width;
	back = fminf(fmaxf(back, REGIME_TEST * width * 0.75f), most);
	r->onset = r->levels.tick - (uint32_t)fminf(back, (float)r->levels.tick);
	r->base = before;
	return true;
}

static void regime_open(struct regime *r, int level, bool born)
{
	const struct regime_level *l = &r->levels.level[level];
	const float *v = regime_level_lows(l, REGIME_TEST);
	uint32_t tick = r->levels.tick, was_until = r->pending ? r->grown_until : r->settled_at;
	float width = regime_width(level);
	bool found;

	r->open = true;
	r->leaking = false;
	r->opened_at = tick;
	/* It goes on after a pause. */
	if (r->pending && tick - r->grown_until < r->grown_until - r->onset) {
		r->pending = false;
		return;
	}
	r->pending = false;
	regime_take_slope(r, level, v, REGIME_TEST);
	r->rise_max = 0;
	r->record = v[REGIME_TEST - 1];
	r->parts_sum = r->record - v[0];
	r->parts_sum2 = 0;
	for (int i = 1; i < REGIME_TEST; i++)
		r->parts_sum2 += (v[i] - v[i - 1]) * (v[i] - v[i - 1]);
	r->born = born;
	found = !born && regime_find_onset(r, level);
	if (!found && !r->settled_at) {
		r->onset = 0;
		r->base = r->first;
	} else if (!found) { /* for most of its life, but not from the start */
		r->onset = tick - (uint32_t)fminf(REGIME_TEST * width, (float)tick);
		r->base = v[0];
	}
	/* A series that has been level from its first look on had that as its level, too. */
	if (was_until == r->settled_at && r->birth_rise < r->floor)
		was_until = 0;
	r->level_before = r->onset > was_until && !born ? r->onset - was_until : 0;
}

/* Much faster lately: the growth that matters began later. */
static void regime_move_onset(struct regime *r)
{
	uint32_t age = regime_age(r);
	int n, k = regime_levels_fit(&r->levels, age / 2.0, &n);

	if (r->pace <= PACE_ANEW || age < REGIME_TICKS * LOOKS_MIN)
		return;
	r->onset += age / 2;
	r->base = n ? regime_level_lows(&r->levels.level[k], n)[0] : r->base;
	r->born = r->born && r->onset < r->levels.tick / 2;
	r->level_before = 0;
	regime_measure(r);
}

static void regime_follow(struct regime *r, float bytes)
{
	regime_measure(r);
	regime_move_onset(r);
	/* Ever slower is no growth that goes on: what comes after is judged anew. */
	if (r->slope <= 0 || r->pace < PACE_ENDED || regime_has_ended(r)) {
		regime_close(r);
		return;
	}
	r->rise_max = fmaxf(r->rise_max, bytes - r->base);
	if (bytes > r->record) {
		float part = bytes - r->record;

		r->record = bytes;
		r->parts_sum += part;
		r->parts_sum2 += part * part;
	}
}

/* ---- jumps -------------------------------------------------------------------------------- */

/*
 * A new height that is no even growth. The lows of single looks count: a look that is lower, right
 * behind, is not the height.
 */
static void regime_note_steps(struct regime *r)
{
	const struct regime_level *l = &r->levels.level[REGIME_LOOK];
	struct regime_steps *steps = &r->steps;
	uint32_t tick = r->levels.tick;
	float low, enough;
	int n = regime_level_kept(l);

	if (n < 2 || r->open || !r->settled_at) {
		steps->count = 0;
		return;
	}
	low = fminf(l->low[n - 1], l->low[n - 2]);
	if (!steps->count)
		steps->base = steps->top = fminf(steps->top > 0 ? steps->top : low, low);
	enough = fmaxf(r->floor, STEP_SHARE * steps->top);
	if (steps->count && low < steps->base + (steps->top - steps->base) / 2) {
		steps->count = 0;
		steps->top = low;
	} else if (low >= steps->top + enough) {
		/* Its end, two looks later: where it stands still. */
		if (!steps->count || tick - steps->last > STEP_LOOKS * REGIME_TICKS)
			steps->count++;
		steps->last = tick - REGIME_TICKS;
		steps->top = low;
	}
}

/* ---- looks -------------------------------------------------------------------------------- */

/* Whether the even rise of a level is nothing that it has shown before. */
static void regime_test_rise(struct regime *r, int level, float rise)
{
	/* Shorter ones than a look have no past of their own. */
	int known_level = level > REGIME_LOOK ? level : REGIME_LOOK;
	const struct regime_level *l = &r->levels.level[known_level];
	float last = regime_level_lows(&r->levels.level[level], 1)[0];
	double past = ((double)l->closed - 2 * REGIME_TEST) / REGIME_TEST, novelty;

	novelty = (last > regime_level_top(l) ? NOVELTY : NOVELTY_BELOW) + NOVELTY_FEW / past;
	if (past >= 1 && r->settled_at &&
	    rise >= novelty * regime_levels_known(&r->levels, known_level))
		regime_open(r, level, false);
	else if (regime_width(level) * REGIME_TEST * 2 >= (float)r->levels.tick &&
		 (r->settled_at || last - r->first >= 1.5f * r->birth_rise))
		regime_open(r, level, true);
}

static void regime_on_closed(void *ctx, int level)
{
	struct regime *r = ctx;
	struct regime_level *l = &r->levels.level[level];
	int n = regime_level_kept(l);
	float rise, last;

	l->top[REGIME_THIS] = fmaxf(l->top[REGIME_THIS], r->now);
	if (n < REGIME_TEST)
		return;
	last = l->low[n - 1];
	rise = regime_even_rise(l->low + n - REGIME_TEST, REGIME_TEST);
	if (rise >= fmaxf(r->floor, FLOOR_SHARE * last) && !r->open)
		regime_test_rise(r, level, rise);
	if (r->settled_at || !r->open)
		l->rise[REGIME_THIS] = fmaxf(l->rise[REGIME_THIS], rise);
	/* What is seen now is known two blocks later, or a leak would make itself known. */
	if (l->closed % REGIME_TEST == 0 && !r->open)
		regime_level_turn(l);
}

/* The growth since the start is over when the later half of its life brought little of it. */
static void regime_settle(struct regime *r)
{
	int n, k;
	const float *v;

	if (r->levels.tick < REGIME_TICKS * LOOKS_MIN || r->open)
		return;
	k = regime_levels_fit(&r->levels, r->levels.tick, &n);
	if (n < 6)
		return;
	v = regime_level_lows(&r->levels.level[k], n);
	if (v[n - 1] - v[n / 2] >= fmaxf(0.15f * (v[n - 1] - v[0]), 0.005f * v[n - 1]))
		return;
	r->settled_at = r->levels.tick;
	r->birth_rise = v[n - 1] - r->first;
}

static void regime_turn(struct regime *r)
{
	uint32_t tick = r->levels.tick;
	double young = regime_ticks(r, GENERATION_YOUNG_S);

	if (tick < r->turn_at || tick < GENERATION_FIRST_LOOKS * REGIME_TICKS)
		return;
	r->turn_at = tick + (tick < young ? tick : (uint32_t)regime_ticks(r, GENERATION_S));
	regime_levels_turn(&r->levels);
	r->rise_before[1] = r->rise_before[0];
	r->rise_before[0] = 0;
}

void regime_add(struct regime *r, uint64_t time_ns, double bytes)
{
	bool is_first = !r->begun;
	float value = (float)bytes;
	uint32_t tick;

	/* The first look closes a bucket, as all do. */
	if (is_first)
		r->start_ns = time_ns - REGIME_TICKS * r->tick_ns;
	r->begun = true;
	tick = (uint32_t)((time_ns - r->start_ns + r->tick_ns / 2) / r->tick_ns);
	if (is_first || (tick < 3 * REGIME_TICKS && value < r->first))
		r->first = value;
	r->now = value;
	regime_levels_add(&r->levels, tick, value, regime_on_closed, r);
	if (!r->settled_at)
		regime_settle(r);
	regime_turn(r);
	if (r->pending && value < r->base + 0.5f * r->rise_max)
		regime_give_back(r);
	if (r->open)
		regime_follow(r, value);
	regime_note_steps(r);
}

/* ---- the judgement ------------------------------------------------------------------------ */

/* What is still to come of growth whose pace falls; INFINITY: it does not level off. */
static double regime_rest(const struct regime *r)
{
	if (r->pace >= 1)
		return INFINITY;
	return r->slope * fmax(r->pace, 0) * (2.0 * regime_age(r) / 3) / -log(fmax(r->pace, 0.01));
}

/* The share of the time left for which growth must have lasted. */
static double regime_patience(const struct regime *r)
{
	double known_s = (double)(r->onset + r->known_for) * (double)r->tick_ns * S_PER_NS;
	double part = fmin(fmax((known_s - YOUNG_S) / (KNOWN_S - YOUNG_S), 0), 1);

	return r->born ? PATIENCE_BIRTH
		       : PATIENCE_YOUNG * pow(PATIENCE_KNOWN / PATIENCE_YOUNG, part);
}

/* Leaking is a matter of what is left: the growth must have lasted for a share of that time. */
static bool regime_leaks(const struct regime *r, double left)
{
	double age = regime_age(r), time_left = fmax(left, 0) / r->slope;
	double lasting = regime_ticks(r, r->born ? LASTING_BIRTH_S : LASTING_S);

	if (age < REGIME_TICKS * REGIME_TEST || r->slope_low <= 0 ||
	    r->parts_sum * r->parts_sum < PARTS_MIN * r->parts_sum2 ||
	    r->rise_max < GIVEN_BACK * fmaxf(r->rise_before[0], r->rise_before[1]))
		return false;
	return (age >= regime_patience(r) * time_left && regime_rest(r) >= left) ||
	       (age >= lasting && r->pace >= LASTING_PACE && r->pace <= LASTING_PACE_TO);
}

static uint64_t regime_time(const struct regime *r, uint32_t tick)
{
	return r->start_ns + tick * r->tick_ns;
}

static void regime_fill(const struct regime *r, double left, struct regime_judgement *out)
{
	double per_s = 1 / ((double)r->tick_ns * S_PER_NS), rest = regime_rest(r);

	out->since_ns = regime_time(r, r->onset);
	out->since_start = r->born && !r->onset;
	out->level_before_ns = r->level_before * r->tick_ns;
	out->grown = r->now - r->base;
	out->growth = r->slope * per_s;
	out->growth_low = r->slope_low * per_s;
	out->growth_high = r->slope_high * per_s;
	out->pace = r->pace;
	out->parts = r->parts_sum2 > 0 ? r->parts_sum * r->parts_sum / r->parts_sum2 : 0;
	if (isfinite(rest) && r->pace < PACE_FILLS)
		out->levels_off_at = r->now + rest;
	if (!isfinite(left))
		return;
	out->room_used = out->grown > 0 ? out->grown / (out->grown + fmax(left, 0)) : 0;
	out->limit_known = r->slope > 0 && (out->word != REGIME_FILLING || rest >= left);
	if (out->limit_known)
		out->limit_s = fmax(left, 0) / out->growth;
}

void regime_judge(struct regime *r, double left, struct regime_judgement *out)
{
	*out = (struct regime_judgement){.word = REGIME_LEVEL};
	if (r->open) {
		r->leaking = r->leaking || regime_leaks(r, left);
		out->word = r->leaking		   ? REGIME_LEAKING
			    : r->pace < PACE_FILLS ? REGIME_FILLING
						   : REGIME_GROWING;
		regime_fill(r, left, out);
	} else if (r->levels.tick < REGIME_TICKS * LOOKS_MIN) {
		out->word = REGIME_EARLY;
	} else if (r->levels.tick < r->held_until) {
		out->word = REGIME_LEAKING;
		regime_fill(r, left, out);
	} else if (r->pending) {
		out->word = REGIME_KEPT;
		out->since_ns = regime_time(r, r->onset);
		out->until_ns = regime_time(r, r->grown_until);
		out->grown = r->rise_max;
	} else if (r->steps.count && r->levels.tick - r->steps.last > STEP_LOOKS * REGIME_TICKS) {
		out->word = REGIME_STEPS;
		out->until_ns = regime_time(r, r->steps.last);
		out->grown = r->steps.top - r->steps.base;
		out->steps = r->steps.count;
	}
}
