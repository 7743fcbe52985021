/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between bpf/guard.bpf.c and user space (docs/guard.md): a target's guards, its
 * guarded blocks, bad accesses.
 */
#ifndef MEMLEAKBPF_BPF_GUARD_ABI_H
#define MEMLEAKBPF_BPF_GUARD_ABI_H

#include "bpf/abi.h"

/* Of user/guard/guard_layout.h, which user/patch/guarded.c compares with these. */
#define GUARD_ABI_PLACE_BITS 16
#define GUARD_ABI_DATA	     0x8000
#define GUARD_ABI_PAGE	     4096
struct guard_abi_meta {
	uint8_t state, touched;
	uint16_t offset, size;
	int16_t changed_at;
	uint8_t changed_to, pad;
	uint16_t site;
	uint32_t pad_;
	uint64_t life, ended;
};
_Static_assert(sizeof(struct guard_abi_meta) == 32, "ABI");

enum guard_abi_state {
	GUARD_ABI_EMPTY,
	GUARD_ABI_BUSY,
	GUARD_ABI_LIVE,
	GUARD_ABI_FREED,
	GUARD_ABI_GONE,
};

enum guard_abi_wrong {
	GUARD_ABI_DOUBLE_FREE = 1,
	GUARD_ABI_INVALID_FREE,
	GUARD_ABI_CHANGED,
};

/* The news of a stub's probe: its cookie. */
enum guard_abi_told {
	GUARD_ABI_TELLS_BEGIN,
	GUARD_ABI_TELLS_END,
	GUARD_ABI_TELLS_BAD,
};

/* Stubs have numbers, which tell the function that takes a block. */
#define GUARD_ABI_STUBS 128

/* Of a target that has guards, by its id. */
struct guard_row {
	uint64_t pool, count;	  /* address, places */
	uint64_t code, code_size; /* it touches the pool by right */
	uint64_t given;		  /* the instruction in it whose fault tells of a new block */
	uint64_t metas;		  /* address of a struct guard_abi_meta for each place */
	uint64_t first;		  /* of its rows of guard_blocks, one for each place */
	uint64_t guarded, freed;  /* blocks that were told */
	uint64_t lost;		  /* bad accesses that found no room */
	uint64_t unseen;	  /* ended blocks whose beginning was not told */
	uint64_t amid;		  /* touches of a place whose block was being made or ended */
	uint64_t filters;	  /* the most that an end of a block has said: GUARD_SAID */
	uint64_t ticks, ticks_ns; /* the last reading of the clock, and its time in ticks */
	/* where stacks begin, in the stub's function; 0: it has none */
	uint64_t pcs[GUARD_ABI_STUBS];
};
_Static_assert(sizeof(struct guard_row) == 120 + 8 * GUARD_ABI_STUBS, "ABI");

/* All targets' pools lie in these addresses; size 0: there are none. User space sets it. */
struct guard_span {
	uint64_t start, size;
};

/*
 * One target's row, by its pool's address, at which hardly another process has its own. Its code
 * touches the pool by right: such faults are left alone before the target is known. No two pools
 * lie in one of these pieces of addresses.
 */
#define GUARD_ABI_PIECE_BITS 28
#define GUARD_ABI_RIGHTS     64
struct guard_right {
	uint64_t pool, size;	  /* size 0: no target's */
	uint64_t code, code_size; /* bytes */
	uint64_t given;		  /* as in guard_row */
};

/* Places of all targets. */
#define GUARD_ABI_BLOCKS (1u << 18)

/*
 * What guard_probed says to a target's stub when a block ends (guard_layout.h, GUARD_SAID): words by
 * place, in an array of the target's own.
 */
#define GUARD_ABI_SAID	    4096
#define GUARD_ABI_SAID_BITS 16
#define GUARD_ABI_SAID_MAX  ((1u << GUARD_ABI_SAID_BITS) - 1)

/* The last block of a place that is known. */
struct guard_block {
	uint64_t life;	   /* struct guard_abi_meta.life; 0: none so far */
	uint64_t told;	   /* the life whose touch has been told */
	uint64_t touched;  /* the touched address */
	uint64_t freed_ns; /* bpf_ktime_get_ns(), up to a tick before; 0: not seen, or not freed */
	uint32_t alloc_slot,
		free_slot; /* counter slots, which stand for stacks; ABI_NO_SLOT: none */
	uint32_t touch_tid;
	uint32_t again; /* the same page has faulted since: GUARD_AGAIN_* */
};
#define GUARD_AGAIN_SAME  1u /* by the same thread: it had read, and now it has written */
#define GUARD_AGAIN_OTHER 2u
_Static_assert(sizeof(struct guard_block) == 48, "ABI");

/* A bad access, by kind and stacks. */
struct bad_access_key {
	uint32_t target_id;
	uint32_t kind; /* enum misuse_kind */
	uint32_t alloc_slot, free_slot, touch_slot;
};
_Static_assert(sizeof(struct bad_access_key) == 20, "ABI");

struct bad_access_value {
	uint64_t count;
	/* About the first one. */
	int64_t offset; /* from the block's beginning */
	uint64_t block, size;
	uint32_t tid;
	int32_t value; /* the value written there; -1: unknown */
	char comm[16];
};
_Static_assert(sizeof(struct bad_access_value) == 56, "ABI");

/*
 * As a kind in an event: not told, since the place was GUARD_ABI_BUSY. The touched guard is to be
 * armed again.
 */
#define GUARD_TOUCHED_AMID 6

/* EVENT_GUARD_TOUCH: a place has been touched, the first time in this life. */
struct guard_touch_event {
	struct event_header header;
	struct bad_access_key key;
	uint32_t place;
	uint64_t life;
	uint64_t address;
};
_Static_assert(sizeof(struct guard_touch_event) == 56, "ABI");

#endif
