/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --group size: a row for each size of a stack's live blocks, as get_malloc_leak_info() of Android's
 * libc has them.
 */
#ifndef MEMLEAKBPF_FIGURES_SIZE_ROWS_H
#define MEMLEAKBPF_FIGURES_SIZE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct figures;
struct snapshot;
struct size_row;
/* Of one snapshot. */
struct size_rows {
	struct size_row *rows; /* by stack and size */
	size_t count;
};

/*
 * Counts a live block of the stack, by its index in the snapshot, that stands for `weight` blocks, in
 * 2^-16; age_ns 0: unknown. 0 or -ENOMEM.
 */
int size_rows_add(struct size_rows *rows, uint32_t stack, uint64_t size, uint64_t weight,
		  uint64_t age_ns);

/*
 * Takes what was counted out of the snapshot's stacks, which have figures, into rows of their own. What is
 * left in a stack's own row is what has been freed, and what was not counted. 0 or -ENOMEM: nothing is
 * changed. Empties `rows`.
 */
int size_rows_split(struct figures *figures, struct snapshot *snapshot, struct size_rows *rows);
void size_rows_free(struct size_rows *rows);

#endif
