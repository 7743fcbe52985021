/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How guarding blocks (--guard, docs/guard.md) stands in a process. */
#ifndef MEMLEAKBPF_MODEL_GUARD_STATE_H
#define MEMLEAKBPF_MODEL_GUARD_STATE_H

#include "user/model/misuse.h"

/* --guard: how it stands in one target. Counters are since the beginning of the watch. */
struct guard_state {
	bool asked;		 /* --guard; all else is 0 without it */
	bool on;		 /* blocks are being guarded */
	const char *reason;	 /* why not; a clause about the process, owned by who fills it in */
	uint64_t period;	 /* one call in so many in the mean */
	uint64_t places, in_use; /* of the pool; live guarded blocks */
	uint64_t guarded, freed; /* blocks */
	uint64_t full;		 /* calls that were to be guarded, and found no place */
	uint64_t passed;	 /* of sites that had their share of the pool already */
	uint64_t unfit;		 /* larger than a page, or aligned in a way of their own */
	uint64_t oldest_free_ms; /* for how long a freed block stays guarded; 0: not known */
	bool no_use_after_free;	 /* none can be seen: a seccomp filter */
	uint64_t
		amid; /* touches that are not told: of a place whose block was just being made or freed */
	uint64_t unseen; /* blocks that ended, of which it was not seen where they were allocated */
	uint64_t lost;	 /* bad accesses for which there was no room */
};

/* Of a process that is guarded among many: how it stands, and how often what was wrong. */
struct guard_figures {
	struct guard_state state;
	uint64_t bad_accesses[MISUSE_GUARDED_KINDS];
};

/* Of all kinds. */
static inline uint64_t guard_figures_bad(const struct guard_figures *figures)
{
	uint64_t count = 0;

	for (int i = 0; i < MISUSE_GUARDED_KINDS; i++)
		count += figures->bad_accesses[i];
	return count;
}

#endif
