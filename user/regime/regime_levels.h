/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lows of a series in buckets of 1, 2, 4 ... ticks, and how much it has been seen to rise in
 * each length of time. A tick is an eighth of a look.
 */
#ifndef MEMLEAKBPF_REGIME_REGIME_LEVELS_H
#define MEMLEAKBPF_REGIME_REGIME_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define REGIME_LEVELS 18 /* up to 2^17 ticks: with looks of 10 s, 12 of them are three weeks */
#define REGIME_RING   12 /* closed buckets kept of each */
#define REGIME_TEST   8	 /* of which the last so many are tested */
#define REGIME_LOOK   3	 /* the level whose buckets are as long as a look */
#define REGIME_TICKS  (1u << REGIME_LOOK)

/* By age: this block of 8 buckets, the last one, this generation of the memory, the last one. */
enum { REGIME_THIS, REGIME_LAST, REGIME_KNOWN, REGIME_KNOWN_BEFORE, REGIME_AGES };

struct regime_level {
	float low[REGIME_RING]; /* of closed buckets, the newest last */
	float open;		/* of the open one; INFINITY: nothing yet */
	uint32_t closed;
	float rise[REGIME_AGES], top[REGIME_AGES]; /* the largest even rise, the highest value */
	float held; /* the largest rise of growth that has not been given back */
};

struct regime_levels {
	struct regime_level level[REGIME_LEVELS];
	uint32_t tick; /* of the last value, since the first */
};

/* Called for a level that has closed a bucket of its own. */
typedef void regime_closed(void *ctx, int level);

/* Ticks ascend. */
void regime_levels_add(struct regime_levels *levels, uint32_t tick, float value,
		       regime_closed *closed, void *ctx);

static inline int regime_level_kept(const struct regime_level *l)
{
	return l->closed < REGIME_RING ? (int)l->closed : REGIME_RING;
}

/* The last n lows, n at most what is kept. */
static inline const float *regime_level_lows(const struct regime_level *l, int n)
{
	return l->low + regime_level_kept(l) - n;
}

/* The level of which 6 to 12 buckets span that time; *n: how many it has of them. */
int regime_levels_fit(const struct regime_levels *levels, double ticks, int *n);

/* The rise of n lows, if it is even; else 0. */
float regime_even_rise(const float *low, int n);

/* The largest even rise known of that length of time or of a shorter one. */
float regime_levels_known(const struct regime_levels *levels, int level);

/* The highest value known. */
float regime_level_top(const struct regime_level *l);

/* A block of buckets is over: what it showed is known two blocks later. */
void regime_level_turn(struct regime_level *l);

/* A generation of the memory is over, of all levels. */
void regime_levels_turn(struct regime_levels *levels);

/* Growth has ended: what it rose by is held aside until it is given back. */
void regime_levels_hold(struct regime_levels *levels);
void regime_levels_give_back(struct regime_levels *levels);

#endif
