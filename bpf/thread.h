/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs' memory of a thread: the allocator calls it is in, and scratch space for walking its
 * stack. It is per thread and not per CPU: uprobe programs can be preempted, and two threads would
 * then share a CPU's buffer.
 */
#ifndef MEMLEAKBPF_BPF_THREAD_H
#define MEMLEAKBPF_BPF_THREAD_H

#include "bpf/abi.h"
#include "bpf/alloc_op.h"
#include "bpf/kinds.h"
#include "bpf/unwind.h"

/* An allocator call that has not returned yet. */
struct pending {
	uint64_t sp;   /* at the function's entry: names the call, and tells nesting */
	uint64_t size; /* requested bytes */
	/* OP_REALLOC: the block being resized; OP_ALLOC_OUT: where the result will be stored */
	uint64_t old_address;
	struct live_value old; /* slot ABI_NO_SLOT: the old block is not one of ours */
	uint32_t slot;	       /* where the new block will be counted; ABI_NO_SLOT: filtered out */
	uint32_t target_id;
	uint16_t op;		 /* enum alloc_op */
	uint16_t own;		 /* a user's own function: 1 + its row of `own_functions` */
	uint32_t flags;		 /* PENDING_* */
	uint64_t return_address; /* PENDING_BARE: the word at sp while the call runs (x86_64) */
	uint64_t ip;	 /* PENDING_BARE: the entry probe's place, which names the function */
	uint64_t family; /* enum alloc_family, with --check-frees */
	uint64_t scope;	 /* --scope: the call around it, a mark of bpf/scope_abi.h; 0: none */
};
#define PENDING_BARE	1u /* has no return probe */
#define PENDING_UNWOUND 2u /* PENDING_BARE: the stack was unwound since, perhaps with this call */
#define PENDING_ARENA	4u /* counts as one block of its size, even under sampling */

struct thread_state {
	struct target_info target; /* the process's, at target_epoch */
	uint32_t target_epoch;	   /* of struct shared; 0: unknown */
	uint32_t depth;		   /* pending calls */
	uint32_t sample_started;
	/* --scope: the node (bpf/scope_abi.h) of the present event; 0: none */
	uint32_t scope;
	uint64_t sample_left; /* bytes to this thread's next sample point */
	/* --temporary: its last allocation; address 0: one that is not recorded */
	struct last_block {
		uint64_t address;
		uint32_t slot, time; /* of its live_value */
	} last;
	uint64_t scope_mark; /* and the mark of the call around it */
	struct pending pending[ABI_MAX_PENDING];
	/* config.mmap: the last unrecorded call; may be over */
	struct pending unrecorded;
	/* last mmap: programs that need alignment map too much and trim both ends at once */
	uint64_t mmap_address;
	uint64_t mmap_size;
	/* --check-frees: the C++ operators that this thread is in, allocating and freeing. */
	struct named_call {
		uint64_t sp;		 /* at its entry; 0: none */
		uint64_t return_address; /* the word at sp while it runs */
		uint64_t ip;		 /* which one it is */
		/* allocating: its first block, 0: none so far; freeing: the block to free */
		uint64_t block;
		uint32_t family; /* enum alloc_family */
		uint32_t one_block;
	} named[2];
	uint64_t free_sp; /* TARGET_LAYERED: at the entry of the last free that found its block, */
	uint64_t free_return; /* and its return address */
	/* bpf/told.h: the block that realloc was told to free; block 0: none */
	struct told_resize {
		uint64_t block;
		struct live_value value;
		uint32_t target_id;
		uint32_t figures; /* the result of figures_freed() */
	} told;
	struct unwind_state unwind;
	/* scratch: the walk writes its frames where they are sent from */
	struct stack_event event;
};

/* With what the kernel has in front of it: in pieces of 8 KiB it would take twice the memory. */
_Static_assert(sizeof(struct thread_state) <= (8 << 10) - 512, "larger than the kernel's pieces");

#endif
