/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate's pages in a target, by distance from their first byte: code that is never written once
 * it runs, then data. For the stub's assembler, its C, the linker (stub/stub.lds has the same numbers)
 * and the tool.
 */
#ifndef MEMLEAKBPF_GATE_STUB_LAYOUT_H
#define MEMLEAKBPF_GATE_STUB_LAYOUT_H

#define GATE_CODE_SIZE 0x8000

/* The data is zero in a forked child (MADV_WIPEONFORK): zero is a gate that does nothing. */
#define GATE_HEADER	  0x8000
#define GATE_SLOTS	  0x10000
#define GATE_SLOT_BITS	  12 /* slots of 64 bytes, one for a thread; few threads share one */
#define GATE_FILTER	  0x50000
#define GATE_FILTER_BITS  16 /* bytes: how many sampled blocks have addresses with that hash */
#define GATE_SET	  0x60000
#define GATE_SET_BITS	  17 /* addresses of sampled blocks, in buckets of 8 */
#define GATE_SIZE	  (GATE_SET + (8 << GATE_SET_BITS))
#define GATE_LOG2_ENTRIES 257

#define GATE_GOLDEN 0x9E3779B97F4A7C15 /* 2^64 / the golden ratio: multiplicative hashing */

/* Bytes kept for the moved beginning of a function, for what undoes its first instruction, and for
 * the instruction that a probe sits on. */
#define GATE_ROOM  96
#define GATE_UNDO  16
#define GATE_PROBE 10

/* What a function takes and gives: enum gate_kind. */
#define GATE_KIND_SIZE_1  0 /* malloc: the first argument is the size */
#define GATE_KIND_SIZE_2  1 /* memalign, aligned_alloc: the second is */
#define GATE_KIND_CALLOC  2 /* the product of the two */
#define GATE_KIND_POSIX	  3 /* posix_memalign: the third is the size, *first the block */
#define GATE_KIND_REALLOC 4
#define GATE_KIND_FREE	  5
#define GATE_KINDS	  6

#ifndef __ASSEMBLER__
#include <stdint.h>

struct gate_header {
	/*
	 * Mean distance of samples in bytes, times ln 2; 0: nothing is sampled. All that the tool
	 * writes while the target runs.
	 */
	uint64_t mean_ln2;
	/* Of sampled blocks; added to atomically, and only by them. */
	uint64_t sampled, removed;
	uint64_t dropped; /* samples for which there was no room in the set */
	uint64_t pad[12];
	uint32_t log2[GATE_LOG2_ENTRIES + 1]; /* log2(1 + i / 256) * 2^24 */
};
_Static_assert(sizeof(struct gate_header) <= GATE_SLOTS - GATE_HEADER, "fits before the slots");

struct gate_slot {
	uint64_t left; /* bytes until the next sample: the fast path's only write */
	uint64_t random;
	/* the thread, and its stack pointer, that is in an allocator for a sample; 0: none */
	uint64_t inside_thread, inside_sp;
	uint64_t pad[4];
};
_Static_assert(sizeof(struct gate_slot) == 64, "a cache line");

/* A stub for one function, as .table of the assembler has it: offsets in the code, 0: has none. */
struct gate_stub {
	uint32_t kind;
	uint32_t entry; /* where the function's arguments are as at its entry */
	uint32_t undo;	/* GATE_UNDO bytes: to be written, and where the jump goes */
	uint32_t room;	/* GATE_ROOM bytes: to be written */
	uint32_t null;	/* realloc: jmp rel32 of realloc(NULL, size), which counts the bytes */
	/* GATE_PROBE bytes each: an allocation (block in %rdi, size in %rsi), the end of one */
	uint32_t allocated, reallocated;
	uint32_t freed;
	uint32_t kept; /* realloc failed: the block that was told as freed is there still */
	uint32_t pad;
};
_Static_assert(sizeof(struct gate_stub) == 40, "as the assembler has it");
#endif

#endif
