/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a number of bytes develops over time: analysis finds it out, exporters show it. */
#ifndef MEMLEAKBPF_MODEL_TREND_H
#define MEMLEAKBPF_MODEL_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum trend_kind {
	TREND_UNKNOWN,	 /* not watched; all other members are unset */
	TREND_TOO_EARLY, /* too few samples for a judgement; the growth may be known already */
	TREND_STEADY,
	TREND_SAWTOOTH,
	TREND_GROWING,
	TREND_SHRINKING,
	TREND_FILLING, /* grows ever slower, and levels off */
	TREND_STEPS,   /* rose in jumps, and is level since */
	TREND_KINDS,
};

struct trend {
	enum trend_kind kind;
	/* growing, and watched for long enough to call it a leak, not a suspect only */
	bool leaking;
	bool growth_known;
	bool error_known;
	double growth;			/* bytes per second, negative when it shrinks */
	double growth_low, growth_high; /* its 95 % confidence interval, when error_known */
	const char *reason;		/* why this kind, in words; a static string */
};

/* "growing" …; NULL for TREND_UNKNOWN and TREND_TOO_EARLY: an unknown value is left out. */
static inline const char *trend_name(enum trend_kind kind)
{
	static const char *const names[TREND_KINDS] = {
		[TREND_STEADY] = "steady",   [TREND_SAWTOOTH] = "sawtooth",
		[TREND_GROWING] = "growing", [TREND_SHRINKING] = "shrinking",
		[TREND_FILLING] = "filling", [TREND_STEPS] = "steps",
	};

	return (unsigned)kind < TREND_KINDS ? names[kind] : NULL;
}

#endif
