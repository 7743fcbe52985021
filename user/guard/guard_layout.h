/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The layout of guard sampling in a target. There is code that is never written once it runs, data
 * that is empty in a forked child, and data that the child inherits. Elsewhere is the pool of
 * guarded blocks. The stub's assembler, its C, the linker (stub/guard.lds has the same numbers) and
 * the tool use it.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_LAYOUT_H
#define MEMLEAKBPF_GUARD_GUARD_LAYOUT_H

#include "user/gate/stub_layout.h"

#define GUARD_CODE_SIZE 0x6000

/* Zero in a forked child (MADV_WIPEONFORK), which then guards nothing and tells nothing. */
#define GUARD_HEADER	0x6000
#define GUARD_SLOTS	0x7000
#define GUARD_SLOT_BITS 12 /* slots of 64 bytes: calls count in the slot of the thread's hash */

/* Copied into a forked child: it must know the blocks that it inherits. */
#define GUARD_POOL	0x47000
#define GUARD_META	0x49000
#define GUARD_META_SIZE 32
#define GUARD_COUNT_MAX 4096 /* blocks at a time */

/*
 * A word for each place, which a BPF program writes and the process can only read. They are an
 * array of BPF's (BPF_F_MMAPABLE) that only this process has. Without it they are zeros.
 */
#define GUARD_SAID	0x69000
#define GUARD_SAID_SIZE (8 * GUARD_COUNT_MAX)
#define GUARD_SIZE	(GUARD_SAID + GUARD_SAID_SIZE)

/*
 * Such a word: the life of the block that ends, and below it what guard_pool.filters is compared
 * with.
 */
#define GUARD_SAID_BITS 16

/*
 * The pool: GUARD_PLACE bytes of addresses for each block, a page of data in their midst, guards
 * before and behind it. It lies at a multiple of its own size, so that a shift and a comparison
 * tell whether a block is in it. A read fault on a page of a file maps up to 16 cached neighbours,
 * in aligned windows of 64 KiB. With more than one page of data in a window, a use after free would
 * disarm the others.
 */
#define GUARD_PLACE_BITS 16
#define GUARD_PLACE	 (1 << GUARD_PLACE_BITS)
#define GUARD_DATA	 0x8000
#define GUARD_PAGE	 4096
#define GUARD_BLOCK_MAX	 GUARD_PAGE

#define GUARD_FILL 0xa7 /* fills a block's page around the block */

/* So many bits of a hash tell sites apart. */
#define GUARD_SITE_BITS 11

#define GUARD_TEXTS 32

/* A function's arguments and result: enum guard_kind. */
#define GUARD_KIND_SIZE_1	       0 /* malloc: the first argument is the size */
#define GUARD_KIND_SIZE_2	       1 /* memalign, aligned_alloc: the alignment, the size */
#define GUARD_KIND_CALLOC	       2
#define GUARD_KIND_POSIX	       3 /* posix_memalign */
#define GUARD_KIND_FREE		       4 /* the block, and perhaps more */
#define GUARD_KIND_REALLOC	       5 /* the C library's, which frees if the size is 0 */
#define GUARD_KIND_REALLOC_ARRAY       6
#define GUARD_KIND_USABLE	       7  /* malloc_usable_size */
#define GUARD_KIND_REALLOC_KEEPS       8  /* mimalloc's, which gives a block if the size is 0 */
#define GUARD_KIND_SIZE_FLAGS	       9  /* jemalloc's mallocx: the size, flags */
#define GUARD_KIND_REALLOC_FLAGS       10 /* rallocx: the block, the size, mallocx's flags */
#define GUARD_KIND_REALLOC_ARRAY_KEEPS 11
#define GUARD_KIND_SIZE_ALIGNED	       12 /* operator new: the size, the alignment */
/* May give a thread a seccomp filter, and takes no block. */
#define GUARD_KIND_PRCTL   13
#define GUARD_KIND_SYSCALL 14 /* syscall(): the call's number is the first argument */
#define GUARD_KINDS	   15

/* What is wrong with the end of a block: in %rsi at the probe. */
#define GUARD_DOUBLE_FREE  1 /* it has been freed before */
#define GUARD_INVALID_FREE 2 /* no block begins there */
#define GUARD_CHANGED	   3 /* bytes around it have been written to; it is freed all the same */
/* nothing: realloc has failed, and the block goes on. Never at a probe */
#define GUARD_STAYS 4

/* In the life that guard_alloc() returns: the fault is to tell of the block. */
#define GUARD_BY_FAULT_BIT 63

/* For the assembler: the member's offset in struct guard_header. */
#define GUARD_HEADER_ALIVE 8

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct guard_header {
	uint64_t period; /* mean calls between two samples; 0: nothing is guarded */
	/*
	 * Not 0: this is the process that the tool has set up, and no forked child of it. Only then
	 * the nops are run.
	 */
	uint64_t alive;
	uint64_t seed;	  /* for the random numbers of all slots */
	uint64_t at_left; /* of 256 blocks so many begin at their page's beginning */
	/*
	 * Not 0: the fault that makes a block's page tells of the block, where a fault is to come.
	 */
	uint64_t by_fault;
	/* Counters, added to atomically. */
	uint64_t guarded, freed;
	uint64_t full;	  /* samples that found no place */
	uint64_t passed;  /* samples of sites that already have their share */
	uint64_t unfit;	  /* samples larger than a page, or with an unusual alignment */
	uint64_t resized; /* by realloc: freed, and the new block is not guarded */
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

/* The process's code, without the kernel's trampolines and the code of tools. */
struct guard_text {
	uint64_t from, to;
};

struct guard_pool {
	uint64_t base; /* of the pool: a private mapping of a file in memory */
	/*
	 * Base of a shared mapping of the same file, with the same offsets. A freed block's
	 * contents are written there; a later touch brings them into its page.
	 */
	uint64_t save;
	uint32_t count; /* places, a power of two up to GUARD_COUNT_MAX */
	/*
	 * madvise must not be called (a seccomp filter could end the process for it). Pages stay,
	 * no use after free is found, and a place whose guards have been touched gets no more
	 * blocks.
	 */
	uint32_t keep_pages;
	/*
	 * Calls that may give a thread a filter: how many have begun, and how many have ended. The
	 * tool has looked at the results up to `allowed`. A call that it has not looked at forbids
	 * madvise, like keep_pages. `dropping`: threads that may be about to call madvise; such a
	 * call waits for them.
	 */
	uint64_t leaves, left, allowed;
	uint64_t dropping;
	/*
	 * The number of the thread's filters, and one, that the probe at `freed` has to say
	 * (GUARD_SAID) for madvise to be called. So a filter is seen that came by a system call
	 * instruction, and that no probe is there any more. 0: nothing need be said.
	 */
	uint64_t filters;
	uint64_t cursor; /* places tried so far: modulo the count, the next one */
	uint64_t live;	 /* blocks, with those that a call may be about to give */
	uint16_t sites[1 << GUARD_SITE_BITS]; /* live blocks by the hash of their allocation site */
	struct guard_text
		texts[GUARD_TEXTS]; /* written by the tool; ends at the first that ends at 0 */
};
_Static_assert(sizeof(struct guard_pool) <= GUARD_META - GUARD_POOL, "fits before what follows");

/*
 * EMPTY --> BUSY --> LIVE --> BUSY --> GONE or FREED --> BUSY --> LIVE .... Each arrow out of a
 * state other than BUSY is a compare-and-swap: a second thread loses it, and sees that the block
 * has ended.
 */
enum guard_place_state {
	GUARD_EMPTY,
	GUARD_BUSY, /* a thread works on it; for good if it was ended, or left by longjmp */
	GUARD_LIVE,
	GUARD_FREED, /* its page still exists: a child, or madvise does not do */
	GUARD_GONE,  /* its page does not exist; `save` has its contents */
};

/*
 * One place. It has no address of a block: in a verdict that would hold what the program has lost.
 */
struct guard_meta {
	uint8_t state;
	/* by the tool: pages around the block exist, and are to go before the next */
	uint8_t touched;
	uint16_t offset;    /* of the block in its page; GUARD_PAGE if it has no byte */
	uint16_t size;	    /* that the program has asked for */
	int16_t changed_at; /* with GUARD_CHANGED: offset of the byte, from the block's beginning */
	uint8_t changed_to;
	uint8_t pad;
	uint16_t site;
	uint32_t pad_;
	uint64_t life;	/* this block's number in the pool: no two have the same */
	uint64_t ended; /* guard_pool.cursor at its end */
};
_Static_assert(sizeof(struct guard_meta) == GUARD_META_SIZE, "half a cache line");
_Static_assert(GUARD_META + GUARD_META_SIZE * GUARD_COUNT_MAX == GUARD_SAID, "behind them");
_Static_assert(GUARD_DATA % GUARD_PAGE == 0 && GUARD_DATA + GUARD_PAGE < GUARD_PLACE,
	       "guards on both sides");

/* A stub for one function, as in the assembler's .table: offsets in the code, 0: it has none. */
struct guard_stub {
	uint32_t kind;
	uint32_t entry; /* arguments and stack are as at the function's entry */
	uint32_t undo;	/* GATE_UNDO bytes: to be written, and where the jump goes */
	uint32_t room;	/* GATE_ROOM bytes: to be written */
	/*
	 * jmp rel32, to be written: to the room of the malloc from which realloc takes another
	 * block
	 */
	uint32_t instead;
	/* shr $0, %rax; cmp $0, %rax: the tool writes the numbers */
	uint32_t mine;
	/* GATE_PROBE bytes each, the same for all stubs that have one */
	uint32_t
		allocated; /* block in %rdi, size in %rsi, number of the stub in %rdx, life in %rcx */
	uint32_t freed;	   /* the same without the size; the probe says GUARD_SAID's word */
	uint32_t bad;	   /* the same without the life; %rsi says what is wrong */
	/*
	 * No probe: the instruction that first touches the new block's page, registers as at
	 * `allocated`.
	 */
	uint32_t given;
	uint32_t pad[2];
};
_Static_assert(sizeof(struct guard_stub) == 48, "as the assembler has it");
#endif

#endif
