/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One segment's rows, written to the word space as a directory of pages (bpf/unwind_abi.h). */
#ifndef MEMLEAKBPF_UNWIND_PAGES_H
#define MEMLEAKBPF_UNWIND_PAGES_H

#include <stdint.h>

#include "user/unwind/space.h"
#include "user/unwind/table.h"

struct unwind_pages {
	uint64_t base; /* link-time address of the first page */
	uint32_t directory, pages;
	uint32_t *sizes; /* words of each page; owned */
};

/*
 * Writes a segment. numbers[] translates the table's rule numbers to the unwinder's. 0; or -ENOMEM,
 * -ENOSPC, -E2BIG (a segment of more than 4 GiB) or the error of adding a chunk, with nothing left
 * behind.
 */
int unwind_pages_write(struct unwind_space *space, const struct unwind_segment *segment,
		       const uint16_t *numbers, struct unwind_pages *out);

/* Gives the space back. */
void unwind_pages_free(struct unwind_space *space, struct unwind_pages *pages);

#endif
