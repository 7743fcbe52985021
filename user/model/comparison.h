/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The changes between two moments, stack by stack; made by user/analysis/diff, printed by
 * user/export.
 */
#ifndef MEMLEAKBPF_MODEL_COMPARISON_H
#define MEMLEAKBPF_MODEL_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/snapshot.h"

struct compared_stack {
	/* frames and end of one of the stacks with these functions; its numbers mean nothing */
	struct stack names;
	struct amount old, now; /* live */
	/* a row (--by) of stacks with different names: those are of the largest one */
	bool several;
};

/* How much the calls of a function left behind, on either side. */
struct compared_scope {
	const char *function, *tag; /* tag: NULL: none */
	/* of the diff; NULL: that side has none */
	const struct scope *old, *now;
};

/* Bad accesses to guarded blocks: of one kind, by stacks of the same functions. */
struct compared_access {
	/* one of them, of the new side where it is there; its count is that side's */
	struct misuse misuse;
	uint64_t old, now; /* how often it was seen */
};

/* Which side has seen the access. */
enum presence {
	PRESENCE_NEW,
	PRESENCE_BOTH,
	PRESENCE_GONE,
	PRESENCES,
};

struct compared_side {
	uint64_t time_ns, elapsed_ns; /* of its latest snapshot */
	size_t processes, ended; /* so many have ended: they count with what they had left then */
	pid_t pid;		 /* of one of them */
	char comm[16];
	struct amount live;	     /* that is compared */
	struct amount suppressed;    /* that is left out */
	uint64_t sample_bytes, lost; /* lost: all causes */
	bool guarded;		     /* blocks were to be guarded (--guard), */
	uint64_t guarded_blocks;     /* and so many were */
	uint64_t bad_accesses;	     /* shown by these blocks, without suppressed ones */
	uint64_t not_listed;	     /* further bad accesses; only their number is known */
	bool inspected, surveyed;    /* as struct snapshot has them */
};

struct comparison {
	struct compared_side old, now;
	/*
	 * Growth first, then equal ones, then those that shrank most. Stacks that never were live
	 * are not among them.
	 */
	struct compared_stack *stacks;
	size_t stack_count;
	/* those that keep most more per call first */
	struct compared_scope *scopes;
	size_t scope_count;
	/* the new ones first, those that are gone last; by kind, the most frequent first */
	struct compared_access *accesses;
	size_t access_count;
	size_t access_counts[PRESENCES];
	/* how many stacks of each; fresh are not among the grown, gone not among the shrunk */
	size_t grown, fresh, shrunk, gone, same;
};

enum change {
	CHANGE_SAME,
	CHANGE_GREW,
	CHANGE_NEW,
	CHANGE_SHRANK,
	CHANGE_GONE,
};

/* Compares bytes, and counts where the bytes are the same. */
enum change compared_change(const struct compared_stack *stack);
const char *change_name(enum change change); /* "grew", "new" … */

enum presence compared_presence(const struct compared_access *access);
const char *presence_name(enum presence presence); /* "new", "both", "gone" */

#endif
