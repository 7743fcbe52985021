/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules which say when growth matters. Private to user/growth. */
#ifndef MEMLEAKBPF_GROWTH_GROWTH_RULE_H
#define MEMLEAKBPF_GROWTH_GROWTH_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/memory_growth.h"

struct snapshot;

/* The pages that have come since tracing began. */
struct growth_seen {
	uint64_t anon; /* bytes by which anonymous memory has grown */
	/*
	 * of `anon`, bytes in private mappings of files: the loader's relocations, variables with
	 * initial values; 0: unknown
	 */
	uint64_t files;
	/*
	 * of `anon`, bytes in mappings where the traced allocator keeps only live blocks; 0: there
	 * are none, or unknown. Outside of its heaps glibc unmaps each block that is freed
	 */
	uint64_t elsewhere;
};

/*
 * Returns the bytes that have come beside live blocks, or 0 when that is usual. Freed memory that an
 * allocator keeps is usual. So growth matters in one of two cases:
 * - All that was ever allocated, freed or not, cannot account for it.
 * - It lies where no allocator keeps anything.
 *
 * In both cases it has to be more by 4 MiB and by a quarter of the growth. Sums under sampling are
 * taken four standard errors higher.
 */
uint64_t growth_beyond_live(const struct snapshot *snapshot, const struct growth_seen *seen);

/* Could growth_beyond_live() be more than 0, for some `files` and `elsewhere`? */
bool growth_is_suspect(const struct snapshot *snapshot, uint64_t anon);

/* The address space of a process at one time. */
struct space_seen {
	uint64_t size, resident; /* bytes; resident or swapped out. size 0: not looked at so far */
	uint64_t threads;
};

/*
 * Addresses that a process takes and keeps without using them: stacks of threads that nobody has
 * joined, mappings that nobody touches. Sets growth->space and space_resident where they matter:
 * - They have grown by 64 MiB beside the stacks and heaps of new threads.
 * - They have grown by eight times the bytes that have come into memory.
 */
void growth_of_space(struct growth *growth, const struct space_seen *before,
		     const struct space_seen *now);

#endif
