/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What guard sampling has in a target: code that is never written once it runs, data that a forked
 * child finds empty, data that it inherits; and elsewhere the pool that guarded blocks are in. For the
 * stub's assembler, its C, the linker (stub/guard.lds has the same numbers) and the tool.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_LAYOUT_H
#define MEMLEAKBPF_GUARD_GUARD_LAYOUT_H

#include "user/gate/stub_layout.h"

#define GUARD_CODE_SIZE 0x6000

/* Zero in a forked child (MADV_WIPEONFORK): it guards nothing and tells nothing. */
#define GUARD_HEADER 0x6000
#define GUARD_SLOTS  0x7000
#define GUARD_SLOT_BITS \
	12 /* slots of 64 bytes: calls are counted in the one of the thread's hash */

/* Copied into a forked child: it must know the blocks that it inherits. */
#define GUARD_POOL	0x47000
#define GUARD_META	0x49000
#define GUARD_META_SIZE 32
#define GUARD_COUNT_MAX 4096 /* blocks at a time */
#define GUARD_SIZE	(GUARD_META + GUARD_META_SIZE * GUARD_COUNT_MAX)

/*
 * The pool: so many bytes of addresses for each block, a page of data in their midst, guards before
 * and behind it. It lies at a multiple of its own size, so that a shift and a comparison tell whether
 * a block is of it. A read fault on a page of a file maps up to 16 cached neighbours, in aligned windows of
 * 64 KiB: with more than one page of data in such a window a use after free would disarm the others.
 */
#define GUARD_PLACE_BITS 16
#define GUARD_PLACE	 (1 << GUARD_PLACE_BITS)
#define GUARD_DATA	 0x8000
#define GUARD_PAGE	 4096
#define GUARD_BLOCK_MAX	 GUARD_PAGE

#define GUARD_FILL 0xa7 /* what is around a block in its page */

/* Sites are told apart by that many bits of a hash. */
#define GUARD_SITE_BITS 11

#define GUARD_TEXTS 32

/* What a function takes and gives: enum guard_kind. */
#define GUARD_KIND_SIZE_1	       0 /* malloc: the first argument is the size */
#define GUARD_KIND_SIZE_2	       1 /* memalign, aligned_alloc: the alignment, the size */
#define GUARD_KIND_CALLOC	       2
#define GUARD_KIND_POSIX	       3 /* posix_memalign */
#define GUARD_KIND_FREE		       4 /* the block, and what else there may be */
#define GUARD_KIND_REALLOC	       5 /* the C library's, which frees where the size is 0 */
#define GUARD_KIND_REALLOC_ARRAY       6
#define GUARD_KIND_USABLE	       7 /* malloc_usable_size */
#define GUARD_KIND_REALLOC_KEEPS       8 /* mimalloc's, which gives a block where the size is 0 */
#define GUARD_KIND_SIZE_FLAGS	       9 /* jemalloc's mallocx: the size, flags */
#define GUARD_KIND_REALLOC_FLAGS       10 /* rallocx: the block, the size, flags as mallocx has them */
#define GUARD_KIND_REALLOC_ARRAY_KEEPS 11
#define GUARD_KIND_SIZE_ALIGNED	       12 /* operator new: the size, the alignment */
/* What may give a thread a seccomp filter, and takes no block. */
#define GUARD_KIND_PRCTL   13
#define GUARD_KIND_SYSCALL 14 /* syscall(): the call's number is the first argument */
#define GUARD_KINDS	   15

/* What is wrong with an end of a block: in %rsi at the probe. */
#define GUARD_DOUBLE_FREE  1 /* it has been freed before */
#define GUARD_INVALID_FREE 2 /* no block begins there */
#define GUARD_CHANGED	   3 /* bytes around it have been written to; it is freed all the same */
#define GUARD_STAYS	   4 /* nothing, and it has not ended: realloc has failed. Never at a probe */

/* In the life that guard_alloc() gives: the fault is to tell of the block. */
#define GUARD_BY_FAULT_BIT 63

/* For the assembler: where that is in struct guard_header. */
#define GUARD_HEADER_ALIVE 8

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct guard_header {
	uint64_t period; /* calls between two samples in the mean; 0: nothing is guarded */
	/*
	 * Not 0: this is the process that the tool has set up, and no child of its that was forked. The
	 * nops are run only then.
	 */
	uint64_t alive;
	uint64_t seed;	  /* of all slots' randomness */
	uint64_t at_left; /* of 256 blocks so many begin at their page's beginning */
	/* Not 0: that a block is given is told by the fault that makes its page, where one is to come. */
	uint64_t by_fault;
	/* Counters, added to atomically. */
	uint64_t guarded, freed;
	uint64_t full;	 /* samples for which no place was found */
	uint64_t passed; /* samples of sites that have their share already */
	uint64_t unfit;	 /* samples that are larger than a page, or aligned in a way of their own */
	uint64_t resized; /* by realloc: freed, and the new one not guarded */
	uint64_t double_freed, invalid_freed, changed;
};
_Static_assert(sizeof(struct guard_header) <= GUARD_SLOTS - GUARD_HEADER, "fits before the slots");
_Static_assert(offsetof(struct guard_header, alive) == GUARD_HEADER_ALIVE,
	       "as the assembler has it");

struct guard_slot {
	uint64_t left; /* calls before the next sample: the fast path's only write */
	uint64_t random;
	uint64_t pad[6];
};
_Static_assert(sizeof(struct guard_slot) == 64, "a cache line");

/* Where the process has code, but for the kernel's trampolines and what tools have put there. */
struct guard_text {
	uint64_t from, to;
};

struct guard_pool {
	uint64_t base; /* of the pool: a private mapping of a file in memory */
	/*
	 * Of a shared mapping of the same file, with the same offsets: what a block has been is written
	 * there when it is freed, and is what a later touch brings into its page.
	 */
	uint64_t save;
	uint32_t count; /* of places, a power of two up to GUARD_COUNT_MAX */
	/*
	 * madvise must not be called (a seccomp filter could end the process for it): pages stay, no
	 * use after free is found, and a place whose guards have been touched gets no more blocks.
	 */
	uint32_t keep_pages;
	/*
	 * Calls that may give a thread a filter: how many have begun, how many have ended, and up to which
	 * the tool has looked at what came of them. One that it has not looked at forbids madvise as
	 * keep_pages does. `dropping`: threads that may be about to call it, for which such a call waits.
	 */
	uint64_t leaves, left, allowed;
	uint64_t dropping;
	uint64_t cursor; /* places tried so far: the next one is that, by the count */
	uint64_t live;	 /* blocks, those too that a call may be about to give */
	uint16_t sites
		[1 << GUARD_SITE_BITS]; /* live blocks by the hash of where they were allocated */
	struct guard_text
		texts[GUARD_TEXTS]; /* written by the tool; the first that ends at 0 is none */
};
_Static_assert(sizeof(struct guard_pool) <= GUARD_META - GUARD_POOL, "fits before what follows");

/*
 * EMPTY --> BUSY --> LIVE --> BUSY --> GONE or FREED --> BUSY --> LIVE ..., each arrow out of a state other
 * than BUSY by compare-and-swap: who comes second has lost, and sees that the block has ended.
 */
enum guard_place_state {
	GUARD_EMPTY,
	GUARD_BUSY, /* somebody is at it; for good where that thread has been ended, or left by longjmp */
	GUARD_LIVE,
	GUARD_FREED, /* its page is there still: a child, or madvise does not do */
	GUARD_GONE,  /* its page is not, and what it was is in `save` */
};

/* Of a place. No address of a block is in it: it would hold, in a verdict, what the program has lost. */
struct guard_meta {
	uint8_t state;
	uint8_t touched; /* by the tool: pages around the block are there, and are to go before the next */
	uint16_t offset;    /* of the block in its page, up to GUARD_PAGE where it has no byte */
	uint16_t size;	    /* what the program has asked for */
	int16_t changed_at; /* with GUARD_CHANGED: offset of the byte, from the block's beginning */
	uint8_t changed_to;
	uint8_t pad;
	uint16_t site;
	uint32_t pad_;
	uint64_t life;	/* which of the pool's blocks this one is: no two have the same */
	uint64_t ended; /* guard_pool.cursor then */
};
_Static_assert(sizeof(struct guard_meta) == GUARD_META_SIZE, "half a cache line");
_Static_assert(GUARD_DATA % GUARD_PAGE == 0 && GUARD_DATA + GUARD_PAGE < GUARD_PLACE,
	       "guards on both sides");

/* A stub for one function, as .table of the assembler has it: offsets in the code, 0: has none. */
struct guard_stub {
	uint32_t kind;
	uint32_t entry; /* arguments and stack are as at the function's entry */
	uint32_t undo;	/* GATE_UNDO bytes: to be written, and where the jump goes */
	uint32_t room;	/* GATE_ROOM bytes: to be written */
	/* jmp rel32, to be written: to the room of the malloc that realloc takes another block from */
	uint32_t instead;
	/* shr $0, %rax; cmp $0, %rax: the numbers are to be written */
	uint32_t mine;
	/* GATE_PROBE bytes each, the same for all stubs that have one */
	uint32_t
		allocated; /* block in %rdi, size in %rsi, number of the stub in %rdx, life in %rcx */
	uint32_t freed;	   /* the same but for the size */
	uint32_t bad;	   /* the same but for the life, and in %rsi what is wrong */
	/* No probe: the instruction that touches the new block's page first, registers as at `allocated`. */
	uint32_t given;
	uint32_t pad[2];
};
_Static_assert(sizeof(struct guard_stub) == 48, "as the assembler has it");
#endif

#endif
