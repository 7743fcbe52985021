/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much a process's memory has grown beside what its live blocks come to: what no traced function
 * has given out shows only there. What live blocks come to is never said to be all that there is.
 */
#ifndef MEMLEAKBPF_MODEL_MEMORY_GROWTH_H
#define MEMLEAKBPF_MODEL_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

struct growth {
	/*
	 * bytes by which anonymous memory, resident or swapped out, is more than at the attach (of a
	 * program that was traced from its start: all of it); 0: none, or unknown
	 */
	uint64_t anon;
	/* what of that is beyond live bytes, where that matters (user/trace/growth.h); 0: it does not */
	uint64_t untraced;
	/*
	 * the mappings that have grown most, a line each; NULL: not looked at. Only where it matters.
	 * Owned by the snapshot
	 */
	char *where;
	bool mmap_traced; /* --mmap: mappings count as blocks */
};

#endif
