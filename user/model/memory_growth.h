/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much more a process's memory has grown than its live blocks. Memory that no traced function
 * has given out shows only there. We never say that live blocks are all that there is.
 */
#ifndef MEMLEAKBPF_MODEL_MEMORY_GROWTH_H
#define MEMLEAKBPF_MODEL_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

struct growth {
	/*
	 * growth of anonymous memory since the attach, resident or swapped out, in bytes; 0: none,
	 * or unknown. For a program traced from its start: all of it.
	 */
	uint64_t anon;
	/*
	 * the part of `anon` beyond live bytes, where that matters (user/growth/growth.h); 0: it
	 * does not
	 */
	uint64_t untraced;
	/*
	 * the mappings that have grown most, a line each, only where it matters; NULL: not looked
	 * at. Owned by the snapshot.
	 */
	char *where;
	bool mmap_traced; /* --mmap: mappings count as blocks */
	/*
	 * growth of its addresses since the attach in bytes, and the part in memory or swapped out. For a
	 * program traced from its start: since the first snapshot. Both 0 where that is usual
	 * (growth_of_space())
	 */
	uint64_t space, space_resident;
};

#endif
