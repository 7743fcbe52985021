/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What guarded blocks have shown (--guard, docs/guard.md): touches of what is no part of a block, or of a
 * block that has been freed, and ends of blocks that are wrong. All of one kind with the same three
 * stacks are one.
 */
#ifndef MEMLEAKBPF_MODEL_BAD_ACCESS_H
#define MEMLEAKBPF_MODEL_BAD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/reported_call.h"

enum bad_access_kind {
	BAD_ACCESS_OVERFLOW,	    /* behind the block */
	BAD_ACCESS_UNDERFLOW,	    /* before it */
	BAD_ACCESS_USE_AFTER_FREE,  /* of a block that had been freed */
	BAD_ACCESS_SLACK_OVERWRITE, /* bytes next to the block were changed, found at its free */
	BAD_ACCESS_DOUBLE_FREE,	    /* by realloc, too */
	BAD_ACCESS_INVALID_FREE,    /* of an address at which no block begins */
	BAD_ACCESS_KINDS,
};

enum access_mode {
	ACCESS_UNKNOWN,
	ACCESS_READ,
	ACCESS_WRITE,
};

enum bad_access_stack {
	BAD_ACCESS_ALLOC,
	BAD_ACCESS_FREE, /* none where the block was live; the one that found BAD_ACCESS_SLACK_OVERWRITE */
	BAD_ACCESS_TOUCH, /* the access, or the second free; none of BAD_ACCESS_SLACK_OVERWRITE */
	BAD_ACCESS_STACKS,
};

struct bad_access {
	enum bad_access_kind kind;
	enum access_mode
		mode; /* ACCESS_WRITE of BAD_ACCESS_SLACK_OVERWRITE, ACCESS_UNKNOWN of frees */
	uint64_t count;
	/* Of the first: where it was, from the block's beginning; that and the size asked for, bytes. */
	int64_t offset;
	uint64_t block, size;
	uint32_t
		thread; /* thread id as the kernel has it; of the touch, or the free that found it */
	char comm[16];	/* its name then; "": not known */
	int value;	/* what was written there, of BAD_ACCESS_SLACK_OVERWRITE; -1: not known */
	struct reported_call calls[BAD_ACCESS_STACKS];
	const char *suppressed; /* name of the suppression; NULL: none */
};

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
	uint64_t bad_accesses[BAD_ACCESS_KINDS];
};

/* Of all kinds. */
static inline uint64_t guard_figures_bad(const struct guard_figures *figures)
{
	uint64_t count = 0;

	for (int i = 0; i < BAD_ACCESS_KINDS; i++)
		count += figures->bad_accesses[i];
	return count;
}

const char *bad_access_kind_name(enum bad_access_kind kind); /* "use_after_free", … for JSON */
const char *bad_access_kind_text(enum bad_access_kind kind); /* "use after free", … */
/* The same the other way round: BAD_ACCESS_KINDS for a name that is not known here. */
enum bad_access_kind bad_access_kind_of(const char *name);
const char *access_mode_name(enum access_mode mode); /* "read", "write"; NULL for ACCESS_UNKNOWN */
enum access_mode access_mode_of(const char *name);   /* ACCESS_UNKNOWN for any other */

/* The order in which they are shown: by kind, the most frequent first; behind all others those that are suppressed. */
void bad_accesses_sort(struct bad_access *list, size_t count);

#endif
