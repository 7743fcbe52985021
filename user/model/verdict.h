/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reachability of live blocks, in memcheck's classes (Valgrind's manual, 4.2.8). docs/verdicts.md
 * has the method and its limits.
 */
#ifndef MEMLEAKBPF_MODEL_VERDICT_H
#define MEMLEAKBPF_MODEL_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/reason.h"
#include "user/model/amount.h"

enum verdict_class {
	VERDICT_DEFINITE,  /* no pointer to it or into it is left */
	VERDICT_INDIRECT,  /* held only by blocks that are definitely lost */
	VERDICT_POSSIBLE,  /* every way to it goes through a pointer into the middle of a block */
	VERDICT_REACHABLE, /* pointers to its beginning lead to it from the roots */
	VERDICT_CLASSES,
};

enum verdict_state {
	VERDICT_NOT_ASKED,
	VERDICT_REFUSED, /* asked for and refused: verdict.reason */
	VERDICT_TAKEN,	 /* each stack.verdict adds up to stack.live */
};

/* Threads that have ended and that nobody has joined: the process keeps their stacks. */
struct unjoined_threads {
	uint64_t count;
	uint64_t bytes, resident; /* of their stacks, and the part in memory */
	uint64_t held; /* of `count`: something still has their pthread_t, and may join them */
};

/* Of a whole snapshot. Unless it is VERDICT_TAKEN, only state and reason mean anything. */
struct verdict {
	enum verdict_state state;
	/* VERDICT_REFUSED: why, as a clause: "a debugger is attached to it (…)" */
	char reason[REASON_MAX];
	struct amount classes[VERDICT_CLASSES]; /* of all stacks */
	/*
	 * blocks in the allocators' books that nobody saw being allocated. They are from before the
	 * attach (or were not sampled), and in no stack.
	 */
	struct amount before[VERDICT_CLASSES];
	struct unjoined_threads unjoined; /* also those whose creation was not recorded */
	uint64_t pause_ns;		  /* for how long the target stood still */
	uint64_t total_ns;		  /* from the stop to the verdict */
	uint64_t read_bytes;		  /* memory that was looked at */
	/*
	 * of it, memory that may be heap from before the attach, without books: taken for roots; 0:
	 * all is known
	 */
	uint64_t unknown_bytes;
	/*
	 * memory that could not be read: blocks that only it points to may be called lost wrongly
	 */
	uint64_t unread_bytes;
	bool approximate; /* some memory was read while the target ran (--max-pause) */
};

/* Are there any blocks from before the attach? */
bool verdict_has_before(const struct verdict *verdict);

/* "definite", "indirect", "possible", "reachable": names for JSON; "?" for anything else. */
const char *verdict_class_name(enum verdict_class class);
/* "definitely lost", … */
const char *verdict_class_text(enum verdict_class class);

#endif
