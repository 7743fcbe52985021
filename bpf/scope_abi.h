/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scopes (--scope): calls of functions that somebody has named, and what is allocated in them.
 * Which programs see them, and what user space reads of them. bpf/scope.h follows the calls.
 */
#ifndef MEMLEAKBPF_BPF_SCOPE_ABI_H
#define MEMLEAKBPF_BPF_SCOPE_ABI_H

#include "bpf/types.h"

#define SCOPE_DEPTH	16   /* calls that are open on one stack, one in the other */
#define SCOPE_STACKS	4    /* of one thread: coroutines have stacks of their own */
#define SCOPE_ROWS	4096 /* stacks with open calls, of all threads together */
#define SCOPE_NODES	4096 /* functions, with their tags and what they are in */
#define SCOPE_FUNCTIONS 1024
#define SCOPE_SPECS	64 /* --scope options */
#define SCOPE_TAG_BYTES 48
#define SCOPE_STEPS	4
#define SCOPE_BUCKETS	48 /* powers of two: of nanoseconds, of bytes */
#define SCOPE_VALUES	8  /* different sums of bytes that calls have kept, told exactly */

/*
 * A live block's mark (struct live_value.weighed): the stack and the call that it was born in. A
 * stack's calls are numbered, and one that was born in call n was born within all calls of that
 * stack that are open still and have a lower number: they were open then.
 */
#define SCOPE_MARK	(1ull << 63)
#define SCOPE_ROW_SHIFT 48
#define SCOPE_SEQ_MASK	((1ull << SCOPE_ROW_SHIFT) - 1)

static inline uint64_t scope_mark(uint32_t row, uint64_t seq)
{
	return SCOPE_MARK | (uint64_t)row << SCOPE_ROW_SHIFT | (seq & SCOPE_SEQ_MASK);
}

/* What the field says when it is no mark. */
static inline uint64_t scope_mark_weighed(uint64_t weighed)
{
	return weighed & SCOPE_MARK ? 0 : weighed;
}

static inline uint32_t scope_mark_row(uint64_t mark)
{
	return (uint32_t)(mark >> SCOPE_ROW_SHIFT) & 0x7fff;
}

/* Blocks that were allocated in a call, and those of them that were freed before it ended. */
struct scope_sums {
	uint64_t alloc_bytes, alloc_count;
	uint64_t free_bytes, free_count;
	int64_t variance; /* of the bytes that were not freed, as stack_counters.variance */
};

/* A call that is open. */
struct scope_frame {
	uint64_t sp;  /* at its entry */
	uint64_t ret; /* where it is to return to */
	uint64_t seq; /* its number */
	uint64_t start_ns;
	struct scope_sums own;	  /* of blocks that were born in no call inside it */
	struct scope_sums nested; /* and of the others, once that call has ended */
	uint32_t node;
	uint32_t flags; /* SCOPE_* */
};
_Static_assert(sizeof(struct scope_frame) == 120, "ABI");
#define SCOPE_INNER 1u /* another call of the same function and tag is open around it */
#define SCOPE_TAIL  2u /* has jumped to another function, by whose return it ends */

/* The calls that are open on one stack of one thread. */
struct scope_stack {
	uint64_t seq;	 /* of the last call; never goes back, whoever has the row */
	uint64_t lo, hi; /* the mapping that the stack is in */
	uint32_t depth;
	uint32_t target_id;
	struct scope_frame frames[SCOPE_DEPTH];
};
_Static_assert(sizeof(struct scope_stack) == 32 + 120 * SCOPE_DEPTH, "ABI");

/* How a tag is got from the arguments. */
enum scope_tag_kind {
	SCOPE_TAG_NONE,
	SCOPE_TAG_NUMBER,
	SCOPE_TAG_STRING,
	SCOPE_TAG_THREAD, /* the thread's id */
};
/* `value` is at *(*(arg + step[0]) + step[1]) …; a string is where the last step leads to. */
struct scope_tag_spec {
	uint8_t kind; /* enum scope_tag_kind */
	uint8_t arg;
	uint8_t steps;
	uint8_t size; /* of a number, in bytes */
	uint8_t is_signed, is_hex;
	uint8_t pad[2];
	int64_t step[SCOPE_STEPS];
};
_Static_assert(sizeof(struct scope_tag_spec) == 40, "ABI");

/* What a tag is. */
enum scope_tag_type {
	SCOPE_IS_UNTAGGED,
	SCOPE_IS_SIGNED,
	SCOPE_IS_UNSIGNED,
	SCOPE_IS_HEX,
	SCOPE_IS_STRING,
	SCOPE_IS_UNREAD, /* could not be read */
	SCOPE_IS_OTHER,	 /* there are as many already as are told apart */
};
struct scope_tag {
	uint8_t type; /* enum scope_tag_type */
	uint8_t pad[7];
	union {
		uint64_t number;
		char text[SCOPE_TAG_BYTES - 8]; /* ends in NUL; one that fills it may be cut */
	};
};
_Static_assert(sizeof(struct scope_tag) == SCOPE_TAG_BYTES, "ABI");

/* A function with a tag, in one or in nothing: a place in the tree of calls. Nodes count from 1. */
struct scope_node_key {
	uint32_t target_id;
	uint32_t parent; /* 0: none */
	uint32_t function;
	uint32_t pad;
	struct scope_tag tag;
};
_Static_assert(sizeof(struct scope_node_key) == 16 + SCOPE_TAG_BYTES, "ABI");

/* Sums in the units of struct stack_counters. */
struct scope_node {
	struct scope_node_key key; /* target_id 0: free; written once before the node is used */
	uint64_t calls;
	uint64_t returned; /* was seen to return, and how long that took: */
	uint64_t time_sum, time_max;
	uint64_t tailed; /* ended by the return of a function that it jumped to */
	uint64_t left;	 /* ended without a return */
	/* of calls that have ended and had none of the same function and tag around them */
	struct scope_sums sums;
	struct scope_sums own; /* of all that have ended: what was born in no call inside */
	/* What calls have kept, in bytes; not under sampling. */
	uint64_t kept_nothing;
	struct {
		uint64_t bytes, calls; /* 0: free */
	} kept[SCOPE_VALUES];
	uint64_t kept_others[SCOPE_BUCKETS]; /* those that are none of these: from 2^n on */
	uint64_t times[SCOPE_BUCKETS];	     /* calls that took 2^n ns and more */
};

/*
 * How many different tags of a function there are beyond those that are told apart, for each target:
 * a HyperLogLog. [i]: of the tags whose hash begins with i the most zeros, plus one, that follow.
 */
#define SCOPE_SKETCH_BITS 9
#define SCOPE_SKETCH	  (1u << SCOPE_SKETCH_BITS)
struct scope_others_key {
	uint32_t target_id;
	uint32_t function;
};
struct scope_others {
	uint8_t most[SCOPE_SKETCH]; /* 0: there is none */
};

/* What user space sets before loading. */
struct scope_config {
	uint32_t only;	   /* --scope-only: allocations in no scope are not recorded */
	uint32_t find_vma; /* the kernel has bpf_find_vma() */
	uint32_t tags;	   /* different ones that are told apart, of a function */
};

/* What both sides write. */
struct scope_shared {
	uint32_t next_node, next_row; /* below are those in use, or used before */
};

#endif
