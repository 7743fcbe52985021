/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the fields of Go's runtime lie, by version. Offsets are in bytes, of 64-bit programs; they were read from
 * the debug information of a program that each version built. Internal to the files of go_heap.h.
 */
#ifndef MEMLEAKBPF_MANAGED_GO_LAYOUT_H
#define MEMLEAKBPF_MANAGED_GO_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define GO_PAGE 8192

struct go_layout {
	unsigned minor; /* of Go 1.minor: this one and those behind it, up to the next row */
	/* runtime.mspan */
	uint16_t span_bytes; /* as far as it is read */
	uint16_t nelems, alloc_bits, mark_bits, sweepgen, alloc_count, span_class, state, elem_size,
		limit;
	uint16_t large_type; /* 0: it has none, nor have objects headers with their type */
	bool narrow;	     /* nelems and freeindex have 16 bits */
	bool inline_marks;   /* small objects' marks lie in the span: the green tea collector */
	/* runtime.g */
	uint16_t syscall_sp, status, wait_reason, go_pc, start_pc;
	/* runtime.moduledata */
	uint16_t types, etypes;
	bool swiss_maps; /* maps have groups instead of buckets */
};

/* The same in all versions. */
#define GO_SPAN_START	   24
#define GO_SPAN_PAGES	   32
#define GO_SPAN_FREE_INDEX 48
#define GO_G_STACK	   0
#define GO_G_SCHED	   56
#define GO_GOBUF_SP	   0
#define GO_GOBUF_PC	   8
#define GO_GOBUF_G	   16
#define GO_G_BYTES	   320

/* The row of Go 1.minor; NULL: its layout is not known. */
const struct go_layout *go_layout_of(unsigned minor);

#endif
