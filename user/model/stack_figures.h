/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of a stack beside its sums, where it was asked for: how long its blocks live, how many
 * of them were temporary, how large they are, and how much their allocator gave for them.
 */
#ifndef MEMLEAKBPF_MODEL_STACK_FIGURES_H
#define MEMLEAKBPF_MODEL_STACK_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"

/* What is kept; of a snapshot also what there is of it. */
struct figures_kept {
	bool lifetimes, temporary, peak, sizes, usable;
};

/* Its members as bits, which recordings have, and back: those that are not known are passed over. */
uint64_t figures_bits(const struct figures_kept *kept);
struct figures_kept figures_of_bits(uint64_t bits);
bool figures_any(const struct figures_kept *kept);
/* Is any of them kept by the traced calls themselves? */
bool figures_traced(const struct figures_kept *kept);

/* [0]: less than 2 us; [i]: 2^i to 2^(i+1) us; the last one: longer */
#define LIFETIME_CLASSES 24

/*
 * Sizes of live blocks: by value, so long as there are few different ones, else by powers of two: [0]
 * of no bytes, [i] of 2^(i-1) bytes and less than 2^i, the last one of more.
 */
#define SIZES_DISTINCT 8
#define SIZE_CLASSES   40
struct stack_sizes {
	uint64_t by_power;		 /* 1: by powers of two */
	uint64_t values[SIZES_DISTINCT]; /* those that have a count */
	uint64_t counts[SIZE_CLASSES];	 /* blocks of that value, or class */
};

struct stack_figures {
	struct stack_sizes sizes;
	/* Blocks that were freed, by how long they had lived. Blocks of before the attach are none of them. */
	uint64_t lifetimes[LIFETIME_CLASSES];
	/*
	 * Live blocks that are older than outlived_ns, which is far longer than others of the stack
	 * live; outlived_ns 0: unknown.
	 */
	uint64_t outlived_ns;
	struct amount outlived;
	struct amount temporary; /* freed with no other allocation of the thread in between */
	struct amount at_peak;	 /* of live when its process had most: snapshot.peak */
	uint64_t peak_bytes;	 /* the most live bytes that it has had itself */
	/*
	 * Live blocks that their allocator's books have: how many bytes of them can be used, and how
	 * many of these were asked for.
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
	/* What the stacks' at_peak add up to, which is as near as it was come by, and when that was. */
	uint64_t captured_bytes, captured_ns;
	double captured_error; /* standard error of captured_bytes under sampling, else 0 */
};

/* Adds what another process's stack has. Peaks are of one process, and not of a sum. What is outlived in one of them is so in the sum. */
void figures_add(struct stack_figures *to, const struct stack_figures *from);

/* Adds blocks of a size. */
void sizes_add(struct stack_sizes *sizes, uint64_t size, uint64_t count);
/* From counts in parts to whole blocks; by value they are in order then. */
void sizes_round(struct stack_sizes *sizes, uint64_t parts);
/* The least size of a class, in bytes. */
uint64_t size_class_bytes(size_t class);

/* From how long on blocks are of that class, in ns. */
uint64_t lifetime_class_ns(size_t class);

/* How many there are. */
uint64_t lifetimes_count(const uint64_t lifetimes[static LIFETIME_CLASSES]);

/*
 * The class that a part of the blocks ends in, by how long they have lived: 0.5 is the median's. Its beginning in ns, 0
 * where none was freed, and *end (NULL: not asked for), which is UINT64_MAX of the last one. Where in its class a
 * block is nobody knows.
 */
uint64_t lifetimes_quantile(const uint64_t lifetimes[static LIFETIME_CLASSES], double part,
			    uint64_t *end);

/*
 * After how long a live block is far older than what the stack has freed, in ns: 64 times what 99 of
 * 100 lived at most, and at least a second. 0: cannot be said, as fewer than 100 have been freed (of
 * which `samples` is the number that was seen), or too many lived as long as the last class.
 */
uint64_t lifetimes_outlived_ns(const uint64_t lifetimes[static LIFETIME_CLASSES], double samples);

#endif
