// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/regime/regime_levels.h"

#include <math.h>
#include <string.h>

static void regime_level_push(struct regime_level *l, float low)
{
	if (l->closed >= REGIME_RING)
		memmove(l->low, l->low + 1, sizeof(l->low) - sizeof(l->low[0]));
	l->low[regime_level_kept(l) - (l->closed >= REGIME_RING)] = low;
	l->closed++;
}

/* Looks jitter: a boundary lies in the middle between two. */
static uint32_t regime_bucket(uint32_t tick, int level)
{
	return (tick + REGIME_TICKS / 2) >> level;
}

/* Buckets without a look: the value stands still in them, but for buckets that are shorter than a look. */
static void regime_level_carry(struct regime_level *l, int level, uint32_t missing, float low)
{
	if (level < REGIME_LOOK || missing > REGIME_RING) {
		l->closed = 0;
		missing = 0;
	}
	while (missing--)
		regime_level_push(l, low);
}

void regime_levels_add(struct regime_levels *levels, uint32_t tick, float value,
		       regime_closed *closed, void *ctx)
{
	uint32_t before = levels->tick;

	levels->tick = tick;
	for (int k = 0; k < REGIME_LEVELS; k++) {
		struct regime_level *l = &levels->level[k];
		uint32_t missing = regime_bucket(tick, k) - regime_bucket(before, k);

		l->open = fminf(l->open, value);
		if (!missing)
			return;
		if (missing > 1)
			regime_level_carry(l, k, missing - 1, l->open);
		value = l->open;
		l->open = INFINITY;
		regime_level_push(l, value);
		if (missing == 1 || k >= REGIME_LOOK)
			closed(ctx, k);
	}
}

int regime_levels_fit(const struct regime_levels *levels, double ticks, int *n)
{
	int k = 0, kept;

	while (k + 1 < REGIME_LEVELS && (ticks / (1u << k) > REGIME_RING ||
					 (k < REGIME_LOOK && regime_level_kept(&levels->level[k]) <
								     (int)(ticks / (1u << k)))))
		k++;
	*n = (int)fmin(ticks / (1u << k), REGIME_RING);
	kept = regime_level_kept(&levels->level[k]);
	if (*n > kept)
		*n = kept;
	return k;
}

/*
 * Nearly every step goes up, none is about half of it, and the last ones are no slower. Growth that
 * lasts looks so at the length of time that fits it; steps and noise do not.
 */
float regime_even_rise(const float *v, int n)
{
	float rise = v[n - 1] - v[0], largest = 0;
	int down = 0, late = n / 3;

	if (rise <= 0 || v[n - 1] <= v[n - 2])
		return 0;
	for (int i = 1; i < n; i++) {
		float step = v[i] - v[i - 1];

		down += step <= 0;
		if (step < -0.15f * rise)
			return 0;
		largest = fmaxf(largest, step);
	}
	if (down > 1 || largest > 0.45f * rise)
		return 0;
	if (v[n - 1] - v[n - 1 - late] < 0.5f * rise * (float)late / (float)(n - 1))
		return 0;
	return rise;
}

static float regime_remembered(const float age[REGIME_AGES])
{
	return fmaxf(age[REGIME_KNOWN], age[REGIME_KNOWN_BEFORE]);
}

float regime_levels_known(const struct regime_levels *levels, int level)
{
	float known = 0;

	for (int k = 0; k <= level; k++)
		known = fmaxf(known, regime_remembered(levels->level[k].rise));
	return known;
}

float regime_level_top(const struct regime_level *l)
{
	return regime_remembered(l->top);
}

static void regime_age(float age[REGIME_AGES])
{
	age[REGIME_KNOWN] = fmaxf(age[REGIME_KNOWN], age[REGIME_LAST]);
	age[REGIME_LAST] = age[REGIME_THIS];
	age[REGIME_THIS] = 0;
}

void regime_level_turn(struct regime_level *l)
{
	regime_age(l->rise);
	regime_age(l->top);
}

void regime_levels_turn(struct regime_levels *levels)
{
	for (int k = 0; k < REGIME_LEVELS; k++) {
		struct regime_level *l = &levels->level[k];

		l->rise[REGIME_KNOWN_BEFORE] = l->rise[REGIME_KNOWN];
		l->rise[REGIME_KNOWN] = 0;
		l->top[REGIME_KNOWN_BEFORE] = l->top[REGIME_KNOWN];
		l->top[REGIME_KNOWN] = 0;
	}
}

void regime_levels_hold(struct regime_levels *levels)
{
	for (int k = 0; k < REGIME_LEVELS; k++) {
		struct regime_level *l = &levels->level[k];

		l->held = fmaxf(l->held, fmaxf(l->rise[REGIME_THIS], l->rise[REGIME_LAST]));
		l->rise[REGIME_THIS] = l->rise[REGIME_LAST] = 0;
	}
}

void regime_levels_give_back(struct regime_levels *levels)
{
	for (int k = 0; k < REGIME_LEVELS; k++) {
		struct regime_level *l = &levels->level[k];

		l->rise[REGIME_KNOWN] = fmaxf(l->rise[REGIME_KNOWN], l->held);
		l->held = 0;
	}
}
