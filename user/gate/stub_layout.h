/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The layout of the gate's pages in a target, as distances from their first byte: code that is
 * never written once it runs, then data. The stub's assembler, its C, the linker (stub/stub.lds has
 * the same numbers) and the tool use it.
 */
#ifndef MEMLEAKBPF_GATE_STUB_LAYOUT_H
#define MEMLEAKBPF_GATE_STUB_LAYOUT_H

#define GATE_CODE_SIZE 0xc000

/* The data is zero in a forked child (MADV_WIPEONFORK): a zero gate does nothing. */
#define GATE_HEADER	  0xc000
#define GATE_SLOTS	  0x10000
#define GATE_SLOT_BITS	  12 /* slots of 64 bytes, one for a thread; few threads share one */
#define GATE_FILTER	  0x50000
#define GATE_FILTER_BITS  16 /* bytes: how many sampled blocks have an address with that hash */
#define GATE_SET	  0x60000
#define GATE_SET_BITS	  17 /* complements of sampled blocks' addresses, in buckets of 8 */
#define GATE_SIZE	  (GATE_SET + (8 << GATE_SET_BITS))
#define GATE_LOG2_ENTRIES 257
#define GATE_MEAN_BITS	  16 /* of a fraction: in whole bytes a mean of 1 would be 1.44 */
#define GATE_LEVEL_MAX	  10

#define GATE_GOLDEN 0x9E3779B97F4A7C15 /* 2^64 / the golden ratio: multiplicative hashing */

/* Bytes kept for the moved beginning of a function, for what undoes its first instruction, and for
 * the instruction that a probe sits on. */
#define GATE_ROOM  96
#define GATE_UNDO  16
#define GATE_PROBE 10

/* A function's arguments and result: enum gate_kind. */
#define GATE_KIND_SIZE_1	0 /* malloc: the first argument is the size */
#define GATE_KIND_SIZE_2	1 /* memalign, aligned_alloc: the second is */
#define GATE_KIND_CALLOC	2 /* the product of the two */
#define GATE_KIND_POSIX		3 /* posix_memalign: the third is the size, *first the block */
#define GATE_KIND_NEW		4 /* operator new, which may throw: the first is the size */
#define GATE_KIND_NEW_ALIGNED	5 /* ... and the second the alignment */
#define GATE_KIND_REALLOC	6
#define GATE_KIND_REALLOC_ARRAY 7 /* reallocarray: the product of the second and the third */
#define GATE_KIND_FREE		8
#define GATE_KINDS		9

/* For the assembler: offsets in struct gate_slot and struct gate_call, and the latter's size. */
#define GATE_SLOT_THREAD 16
#define GATE_SLOT_INSIDE 24
#define GATE_CALL_LEVEL	 32
#define GATE_CALL_SIZE	 48

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct gate_header {
	/*
	 * Mean distance of samples in bytes, times ln 2, in units of 2^-GATE_MEAN_BITS. 0: nothing
	 * is sampled, and exact stubs tell nothing; for these any other value is as good.
	 */
	uint64_t mean_ln2;
	/* Counts of sampled blocks; only they add to these, atomically. */
	uint64_t sampled, removed;
	uint64_t dropped; /* samples that found no room in the set */
	/*
	 * Calls that found no slot of the thread's own. If the allocator's function calls another
	 * one in such a call, both may have been told.
	 */
	uint64_t crowded;
	uint64_t seed; /* for the random numbers of all slots */
	/*
	 * From now on distances are drawn with 2^level times that mean: GATE_LEVEL_MAX at most.
	 * While the target runs, the tool writes only this and the mean.
	 */
	uint64_t level;
	uint64_t pad[9];
	uint32_t log2[GATE_LOG2_ENTRIES + 1]; /* log2(1 + i / 256) * 2^24 */
};
_Static_assert(sizeof(struct gate_header) <= GATE_SLOTS - GATE_HEADER, "fits before the slots");

/* A thread counts in the slot of its thread pointer's hash, even if another thread does, too. */
struct gate_slot {
	uint64_t left; /* bytes until the next sample: the fast path's only write */
	uint64_t random;
	/*
	 * The owner of the next word, for good; 0: none yet. A thread takes the first slot without
	 * an owner from its hash on.
	 */
	uint64_t thread;
	/* The stack pointer at the entry of the thread's present function; 0: it is in none. */
	uint64_t inside;
	uint64_t level; /* the level with which `left` was drawn */
	uint64_t pad[3];
};
_Static_assert(sizeof(struct gate_slot) == 64, "a cache line");
_Static_assert(offsetof(struct gate_slot, thread) == GATE_SLOT_THREAD &&
		       offsetof(struct gate_slot, inside) == GATE_SLOT_INSIDE,
	       "as the assembler has it");

/* A call that a stub makes, on the stack. */
struct gate_call {
	struct gate_slot *own;	/* NULL: it is inside of another call */
	struct gate_slot *home; /* the slot where the thread counts */
	uint64_t left;		/* functions inside take from the slot; this gives it back */
	uint64_t sample;
	uint64_t level; /* with which the distance was drawn that ended in this call */
	uint64_t left_level;
};
_Static_assert(sizeof(struct gate_call) == GATE_CALL_SIZE &&
		       offsetof(struct gate_call, level) == GATE_CALL_LEVEL,
	       "as the assembler has it");

/* A stub for one function, as in the assembler's .table: offsets in the code, 0: it has none. */
struct gate_stub {
	uint32_t kind;
	/* Entries, with arguments and stack as at the function's entry. */
	uint32_t entry;	  /* for a function that calls no other one with a stub */
	uint32_t nesting; /* for one that may */
	uint32_t exact;	  /* each call is told */
	/* GATE_UNDO bytes, to be written: the jump goes there */
	uint32_t undo, exact_undo;
	uint32_t room;	  /* GATE_ROOM bytes: to be written */
	uint32_t instead; /* jmp rel32, to be written: to the room of the function called instead */
	/*
	 * GATE_PROBE bytes each. An allocation: block in %rdi, size in %rsi; for a sample in %r8
	 * the level at which it was drawn. Then a block's end.
	 */
	uint32_t allocated;
	uint32_t freed;
	uint32_t kept; /* realloc failed: the block told as freed still exists */
	uint32_t pad;
};
_Static_assert(sizeof(struct gate_stub) == 48, "as the assembler has it");
#endif

#endif
