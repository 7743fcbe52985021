/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scopes (--scope): calls of functions that somebody has named, and the allocations in them. The
 * programs that see them, and what user space reads of them. bpf/scope.h follows the calls.
 */
#ifndef MEMLEAKBPF_BPF_SCOPE_ABI_H
#define MEMLEAKBPF_BPF_SCOPE_ABI_H

#include "bpf/types.h"

#define SCOPE_DEPTH	16   /* open calls on one stack, one inside the other */
#define SCOPE_STACKS	4    /* of one thread: coroutines have stacks of their own */
#define SCOPE_ROWS	4096 /* stacks with open calls, of all threads together */
#define SCOPE_NODES	4096 /* functions, with their tags and the calls around them */
#define SCOPE_FUNCTIONS 1024
#define SCOPE_SPECS	64 /* --scope options */
#define SCOPE_TAG_BYTES 48
#define SCOPE_STEPS	4
#define SCOPE_BUCKETS	48 /* powers of two: of nanoseconds, of bytes */
#define SCOPE_VALUES	8  /* different sums of bytes that calls have kept, listed exactly */

/*
 * A live block's mark (struct live_value.weighed): the stack and the call of its birth. A stack's
 * calls are numbered. A block born in call n was born within all calls of that stack with a lower
 * number that are still open. They were open then.
 */
#define SCOPE_MARK	(1ull << 63)
#define SCOPE_ROW_SHIFT 48
#define SCOPE_SEQ_MASK	((1ull << SCOPE_ROW_SHIFT) - 1)

static inline uint64_t scope_mark(uint32_t row, uint64_t seq)
{
	return SCOPE_MARK | (uint64_t)row << SCOPE_ROW_SHIFT | (seq & SCOPE_SEQ_MASK);
}

/* The field's weight, if it is no mark. */
static inline uint64_t scope_mark_weighed(uint64_t weighed)
{
	return weighed & SCOPE_MARK ? 0 : weighed;
}

static inline uint32_t scope_mark_row(uint64_t mark)
{
	return (uint32_t)(mark >> SCOPE_ROW_SHIFT) & 0x7fff;
}

/* Blocks allocated in a call, and those of them freed before it ended. */
struct scope_sums {
	uint64_t alloc_bytes, alloc_count;
	uint64_t free_bytes, free_count;
	int64_t variance; /* of the bytes not freed, as stack_counters.variance */
};

/* A call that is open. */
struct scope_frame {
	uint64_t sp;  /* at its entry */
	uint64_t ret; /* its return address */
	uint64_t seq; /* its number */
	uint64_t start_ns;
	struct scope_sums own;	  /* of blocks born in no call inside it */
	struct scope_sums nested; /* and of the others, once their call has ended */
	uint32_t node;
	uint32_t flags; /* SCOPE_* */
};
_Static_assert(sizeof(struct scope_frame) == 120, "ABI");
#define SCOPE_INNER 1u /* a call of the same function and tag is open around it */
#define SCOPE_TAIL  2u /* has jumped to another function: it ends by that one's return */

/* The calls that are open on one stack of one thread. */
struct scope_stack {
	uint64_t seq;	 /* of the last call; never goes back, whoever has the row */
	uint64_t lo, hi; /* the mapping that the stack is in */
	uint32_t depth;
	uint32_t target_id;
	struct scope_frame frames[SCOPE_DEPTH];
};
_Static_assert(sizeof(struct scope_stack) == 32 + 120 * SCOPE_DEPTH, "ABI");

/* How the arguments give a tag. */
enum scope_tag_kind {
	SCOPE_TAG_NONE,
	SCOPE_TAG_NUMBER,
	SCOPE_TAG_STRING,
	SCOPE_TAG_THREAD, /* the thread's id */
};
/* `value` is at *(*(arg + step[0]) + step[1]) …; the last step leads to a string itself. */
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

/* The kind of a tag. */
enum scope_tag_type {
	SCOPE_IS_UNTAGGED,
	SCOPE_IS_SIGNED,
	SCOPE_IS_UNSIGNED,
	SCOPE_IS_HEX,
	SCOPE_IS_STRING,
	SCOPE_IS_UNREAD, /* could not be read */
	SCOPE_IS_OTHER,	 /* as many are told apart already as can be */
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

/*
 * A function with a tag, in another one or in nothing: a place in the tree of calls. Nodes count
 * from 1.
 */
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
	uint64_t returned; /* calls that were seen to return, and how long that took: */
	uint64_t time_sum, time_max;
	uint64_t tailed; /* ended by the return of the function that they jumped to */
	uint64_t left;	 /* ended without a return */
	/* of ended calls with no call of the same function and tag around them */
	struct scope_sums sums;
	struct scope_sums own; /* of all ended calls: blocks born in no call inside */
	/* Bytes that calls have kept; not under sampling. */
	uint64_t kept_nothing;
	struct {
		uint64_t bytes, calls; /* 0: free */
	} kept[SCOPE_VALUES];
	uint64_t kept_others[SCOPE_BUCKETS]; /* calls with other sums: from 2^n on */
	uint64_t times[SCOPE_BUCKETS];	     /* calls that took 2^n ns and more */
};

/*
 * How many different tags of a function, beyond those told apart, a target has: a HyperLogLog. [i]
 * is about tags whose hash begins with i: the most zeros that follow, plus one.
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
	uint32_t tags;	   /* different ones of a function that are told apart */
};

/* Both sides write these. */
struct scope_shared {
	uint32_t next_node, next_row; /* numbers below are in use, or were before */
};

#endif
