/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Figures of a stack beside its sums, kept on request. They are its blocks' lifetimes, how many
 * were temporary, their sizes, and how much their allocator gave for them.
 */
#ifndef MEMLEAKBPF_MODEL_STACK_FIGURES_H
#define MEMLEAKBPF_MODEL_STACK_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"

/* Which figures are kept; in a snapshot, which it has. */
struct figures_kept {
	bool lifetimes, temporary, peak, sizes, usable;
};

/* The members as bits, as in recordings, and back; unknown bits are passed over. */
uint64_t figures_bits(const struct figures_kept *kept);
struct figures_kept figures_of_bits(uint64_t bits);
bool figures_any(const struct figures_kept *kept);
/* Do the traced calls themselves keep any of them? */
bool figures_traced(const struct figures_kept *kept);

/* [0]: less than 2 us; [i]: 2^i to 2^(i+1) us; the last one: longer */
#define LIFETIME_CLASSES 24

/*
 * Sizes of live blocks: by value while there are few different ones, else by powers of two. Class
 * [0]: no bytes; [i]: 2^(i-1) bytes and less than 2^i; the last one: more.
 */
#define SIZES_DISTINCT 8
#define SIZE_CLASSES   40
struct stack_sizes {
	uint64_t by_power;		 /* 1: by powers of two */
	uint64_t values[SIZES_DISTINCT]; /* the values that have a count */
	uint64_t counts[SIZE_CLASSES];	 /* blocks of that value, or class */
};

struct stack_figures {
	struct stack_sizes sizes;
	/* Freed blocks, by how long they had lived; without blocks from before the attach. */
	uint64_t lifetimes[LIFETIME_CLASSES];
	/*
	 * Live blocks that are older than outlived_ns, far longer than others of the stack live;
	 * outlived_ns 0: unknown.
	 */
	uint64_t outlived_ns;
	struct amount outlived;
	struct amount temporary; /* freed with no other allocation of the thread in between */
	struct amount at_peak;	 /* of live when its process had most: snapshot.peak */
	uint64_t peak_bytes;	 /* the most live bytes of this stack alone */
	/*
	 * Live blocks that their allocator's books have: their usable bytes, and how many of these
	 * were asked for.
	 */
	struct amount usable;
	uint64_t usable_asked;
	double at_peak_error;	/* standard error of at_peak.bytes under sampling, else 0 */
	double temporary_error; /* standard error of temporary.bytes under sampling, else 0 */
};

/* The most live bytes that a process has had. */
struct peak {
	uint64_t bytes;
	uint64_t time_ns; /* CLOCK_REALTIME, to the kernel's tick; 0: it has had none */
	/*
	 * The sum of the stacks' at_peak, as near to the peak as they were read, and the time of
	 * that.
	 */
	uint64_t captured_bytes, captured_ns;
	double captured_error; /* standard error of captured_bytes under sampling, else 0 */
};

/*
 * Adds the figures of another process's stack, but no peaks: they are one process's. Outlived
 * blocks of one stay so in the sum.
 */
void figures_add(struct stack_figures *to, const struct stack_figures *from);

/* Adds blocks of a size. */
void sizes_add(struct stack_sizes *sizes, uint64_t size, uint64_t count);
/* Turns counts in parts into whole blocks; values are in order afterwards. */
void sizes_round(struct stack_sizes *sizes, uint64_t parts);
/* The least size of a class, in bytes. */
uint64_t size_class_bytes(size_t class);

/* The shortest lifetime of a class, in ns. */
uint64_t lifetime_class_ns(size_t class);

/* The number of blocks in all classes. */
uint64_t lifetimes_count(const uint64_t lifetimes[static LIFETIME_CLASSES]);

/*
 * Finds the class in which a part of the blocks ends, by lifetime: 0.5 finds the median's. Returns
 * the class's beginning in ns, 0 where no block was freed; *end (NULL: not asked for) is its end,
 * UINT64_MAX for the last class. Where in its class a block lies is unknown.
 */
uint64_t lifetimes_quantile(const uint64_t lifetimes[static LIFETIME_CLASSES], double part,
			    uint64_t *end);

/*
 * Returns from which age on, in ns, a live block is far older than the freed ones. That is 64 times
 * the lifetime that 99 of 100 stayed within, and at least a second. 0: unknown. Fewer than 100 have
 * been freed (`samples`: how many were seen), or too many lived as long as the last class.
 */
uint64_t lifetimes_outlived_ns(const uint64_t lifetimes[static LIFETIME_CLASSES], double samples);

#endif
