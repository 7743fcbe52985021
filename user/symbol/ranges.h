/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * "Which of these address ranges holds this address?" Ranges may overlap: the earlier one in the
 * array wins. Built once in O(n log n) whatever the overlaps (hostile symbol tables included), then
 * asked by binary search.
 */
#ifndef MEMLEAKBPF_SYMBOL_RANGES_H
#define MEMLEAKBPF_SYMBOL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start, end; /* [start, end); ignored when empty */
};

struct range_index {
	uint64_t *bounds; /* all starts and ends, sorted, unique */
	uint32_t *owner;  /* owner[i] holds [bounds[i], bounds[i + 1]); RANGE_NONE for a gap */
	size_t count;
};

#define RANGE_NONE UINT32_MAX

/*
 * Builds an index over `count` ranges, the preferred ones first. 0, -ENOMEM, or -E2BIG when there
 * are 2^31 ranges or more.
 */
int range_index_build(struct range_index *index, const struct range *ranges, size_t count);

/* Returns the position in range_index_build()'s array, or RANGE_NONE. A zeroed index is empty. */
uint32_t range_index_find(const struct range_index *index, uint64_t address);
void range_index_release(struct range_index *index); /* leaves it zeroed */

#endif
