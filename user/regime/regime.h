/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Growth that begins at any time: when a number of bytes began to grow, how fast, and whether that
 * is a leak. One struct for each series: of bounded size, without I/O and without a clock.
 *
 *     regime_init(&r, look_ns, floor);
 *     each look:  regime_add(&r, time_ns, bytes);
 *                 regime_judge(&r, left, &judgement);
 *
 * How it works stands in docs/survey.md; tests/unit/regime has the corpus that judges it.
 */
#ifndef MEMLEAKBPF_REGIME_REGIME_H
#define MEMLEAKBPF_REGIME_REGIME_H

#include <stdbool.h>
#include <stdint.h>

#include "user/regime/regime_levels.h"

enum regime_word {
	REGIME_EARLY,	/* too few looks for a judgement */
	REGIME_LEVEL,	/* nothing grows that has not been seen to come and go before */
	REGIME_KEPT,	/* grew, does not any more, and has not given it back */
	REGIME_STEPS,	/* rose in jumps, and has not given that back */
	REGIME_FILLING, /* grows ever slower, and levels off */
	REGIME_GROWING,
	REGIME_LEAKING, /* it has grown for long, measured by what is left */
};

/* Jumps to new heights that make up no even growth. */
struct regime_steps {
	uint32_t count, last; /* tick of the last jump's end */
	float base, top;      /* before the first of them, and now */
};

struct regime {
	struct regime_levels levels;
	uint64_t start_ns, tick_ns;
	uint32_t known_for;  /* ticks, of those whose place this one has taken */
	uint32_t turn_at;    /* the memory's generation is turned then */
	uint32_t settled_at; /* the growth since the start had ended; 0: not yet */
	float floor;	     /* bytes: less is no growth */
	float first;	     /* the lowest of the first looks */
	float now;
	/* The growth that is open, or was the last. */
	bool begun, open, born, leaking, pending /* it has ended, and was not given back */;
	uint32_t onset, opened_at, grown_until, held_until;
	uint32_t level_before; /* ticks */
	float base;	       /* bytes at the onset */
	float rise_before[2],
		rise_max; /* largest rises of growth that was given back; of this one */
	float record, parts_sum, parts_sum2; /* new highs since the onset, and their squares */
	float birth_rise;		     /* of the one before, until it settled; 0: unknown */
	float slope, slope_low, slope_high;  /* bytes a tick */
	float pace;			     /* the last third's slope of the first's */
	struct regime_steps steps;
};

/* What is to be said of it. Times are those of regime_add(). Rates are bytes per second. */
struct regime_judgement {
	enum regime_word word;
	/* From REGIME_KEPT on: */
	uint64_t since_ns, until_ns; /* until: of KEPT and STEPS, when it ended */
	double grown;		     /* bytes since then */
	unsigned steps;		     /* of STEPS: how many */
	/* From REGIME_FILLING on: */
	bool since_start;	  /* since the series began: a warm-up is not excluded */
	uint64_t level_before_ns; /* for so long it had been level; 0: it had not, or unknown */
	double growth, growth_low, growth_high; /* with the 95 % confidence interval */
	double pace;  /* what it is lately of what it was at first; below 1: ever slower */
	double parts; /* equal ones of which it would consist */
	bool limit_known;
	double limit_s;	  /* until nothing is left, at this growth; not of FILLING that will fit */
	double room_used; /* of what was left at the onset, 0 to 1 */
	double levels_off_at; /* bytes: it goes there, by its pace; 0: nowhere near */
};

/*
 * look_ns: between two looks, as a rule. Closer looks are made use of, down to an eighth of that.
 * floor: bytes below which a rise is none, beside 1 % of the series itself.
 */
void regime_init(struct regime *r, uint64_t look_ns, double floor);

/* What is known of a series after its end, for the one that takes its place. */
struct regime_legacy {
	float rise[REGIME_LEVELS][2], rise_before[2], birth_rise;
	uint32_t known_for; /* ticks */
};

void regime_leave(const struct regime *r, struct regime_legacy *legacy);

/*
 * The series takes the place of one of the same program that has ended. What that one gave back is
 * known, and how much it grew until it settled. To be called within the first looks, with the same
 * look_ns.
 */
void regime_inherit(struct regime *r, const struct regime_legacy *legacy);

/* Times ascend, of any clock. Takes 0.6 us, on average. */
void regime_add(struct regime *r, uint64_t time_ns, double bytes);

/* left: bytes until something is full; INFINITY: unknown. Takes note of what it has said. */
void regime_judge(struct regime *r, double left, struct regime_judgement *out);

/* Does it need to be told what is left? Of what does not grow the judgement does not depend on it. */
static inline bool regime_is_open(const struct regime *r)
{
	return r->open || r->pending;
}

#endif
