/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program's misuses of blocks: wrong frees (--check-frees), and touches outside of a block or of a
 * freed one (--guard, docs/guard.md). All of one kind with the same stacks are one.
 */
#ifndef MEMLEAKBPF_MODEL_MISUSE_H
#define MEMLEAKBPF_MODEL_MISUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/alloc_family.h"
#include "user/model/reported_call.h"

/* Who has found it. Each has a list of its own, and other words in the formats. */
enum misuse_finder {
	MISUSE_BY_CHECK, /* --check-frees: "bad frees" */
	MISUSE_BY_GUARD, /* --guard: "bad accesses" */
	MISUSE_FINDERS,
};

enum misuse_kind {
	/* what guarded blocks show, numbered as bpf/guard.bpf.c does */
	MISUSE_OVERFLOW,	/* behind the block */
	MISUSE_UNDERFLOW,	/* before it */
	MISUSE_USE_AFTER_FREE,	/* of a block that had been freed */
	MISUSE_SLACK_OVERWRITE, /* bytes next to the block were changed, found at its free */
	MISUSE_DOUBLE_FREE,	/* by realloc, too; found by both */
	MISUSE_INVALID_FREE,	/* of an address at which no block begins */
	MISUSE_GUARDED_KINDS,
	/* what --check-frees tells apart beside double frees */
	MISUSE_INSIDE_BLOCK = MISUSE_GUARDED_KINDS, /* a free of an address inside a live block */
	MISUSE_NEVER_ALLOCATED,			    /* of an address that was never allocated */
	MISUSE_MISMATCH, /* by the wrong function: new and free, new[] and delete … */
	MISUSE_KINDS,
};

enum access_mode {
	ACCESS_UNKNOWN,
	ACCESS_READ,
	ACCESS_WRITE,
};

/* In the order in which they are shown: what is wrong comes first, then what was before it. */
enum misuse_call {
	MISUSE_CALL_NOW,   /* the touch or the wrong free; none of MISUSE_SLACK_OVERWRITE */
	MISUSE_CALL_FREE,  /* the free before it; the one that found MISUSE_SLACK_OVERWRITE */
	MISUSE_CALL_ALLOC, /* where the block was allocated */
	MISUSE_CALLS,
};

struct misuse {
	enum misuse_finder finder;
	enum misuse_kind kind;
	uint64_t count;
	/*
	 * Of the first: what was freed or touched; where its block begins, and the size asked for,
	 * in bytes. A block at 0 is not known.
	 */
	uint64_t address, block, size;
	/* of MISUSE_BY_CHECK; FAMILY_ANY: not known */
	enum alloc_family alloc_family, free_family;
	/* The rest is of MISUSE_BY_GUARD. ACCESS_UNKNOWN of frees too */
	enum access_mode mode;
	uint32_t thread; /* id as the kernel has it; of the touch, or the free that found it */
	char comm[16];	 /* its name then; "": not known */
	int value;	 /* what was written there, of MISUSE_SLACK_OVERWRITE; -1: not known */
	struct reported_call calls[MISUSE_CALLS];
	const char *suppressed; /* name of the suppression; NULL: none */
};

struct misuse_list {
	struct misuse *items;
	size_t count;
};

/* Where it was, from the block's beginning. Modulo 2^64: a forged recording may hold any numbers. */
static inline int64_t misuse_offset(const struct misuse *misuse)
{
	return (int64_t)(misuse->address - misuse->block);
}

/*
 * The call that has a number outside of this program: recordings, JSON and the order of equals go by
 * it. --check-frees numbers them as enum misuse_call does, --guard the other way round.
 */
static inline enum misuse_call misuse_call_of(enum misuse_finder finder, int number)
{
	return (enum misuse_call)(finder == MISUSE_BY_GUARD ? MISUSE_CALLS - 1 - number : number);
}

const char *misuse_kind_name(enum misuse_kind kind); /* "use_after_free", … for JSON */
const char *misuse_kind_text(enum misuse_kind kind); /* "heap use after free", … */
/* The kind of a name that the finder gives; MISUSE_KINDS for one that is not known here. */
enum misuse_kind misuse_kind_of(enum misuse_finder finder, const char *name);
/* Is it a free that is wrong, and no touch? */
bool misuse_is_free(const struct misuse *misuse);

const char *access_mode_name(enum access_mode mode); /* "read", "write"; NULL for ACCESS_UNKNOWN */
enum access_mode access_mode_of(const char *name);   /* ACCESS_UNKNOWN for any other */
/*
 * "malloc", "new", "new[]"; and what frees it: "free", "delete", "delete[]"; NULL for FAMILY_ANY.
 */
const char *alloc_family_name(enum alloc_family family);
const char *free_family_name(enum alloc_family family);
enum alloc_family alloc_family_of(const char *name); /* FAMILY_ANY for a name that is not known */

/* Do the same calls tell both? */
bool misuse_same_calls(const struct misuse *a, const struct misuse *b);

/*
 * The order in which those of one finder are shown: by kind, the most frequent first; behind all
 * others those that are suppressed.
 */
void misuses_sort(struct misuse *list, size_t count);

#endif
