/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What bpf/guard.bpf.c and user space agree on (docs/guard.md): where a target's guards are, its guarded blocks, what was wrong. */
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

/* What a stub's probe tells: its cookie. */
enum guard_abi_told {
	GUARD_ABI_TELLS_BEGIN,
	GUARD_ABI_TELLS_END,
	GUARD_ABI_TELLS_BAD,
};

/* Stubs have numbers: what takes a block is known by its stub's. */
#define GUARD_ABI_STUBS 128

/* Of a target that has guards, by its id. */
struct guard_row {
	uint64_t pool, count;	  /* address, places */
	uint64_t code, code_size; /* that touches the pool by right */
	uint64_t given;		  /* of these, whose fault tells of a new block */
	uint64_t metas;		  /* address of a struct guard_abi_meta for each place */
	uint64_t first;		  /* of its rows of guard_blocks, one for each place */
	uint64_t guarded, freed;  /* blocks that were told */
	uint64_t lost;		  /* what there was no room for */
	uint64_t unseen;	  /* blocks that ended, and were not told when they began */
	uint64_t amid;		  /* touches of a place whose block was being made or ended */
	uint64_t ticks, ticks_ns; /* when the clock was read last, in ticks, and what it said */
	uint64_t pcs[GUARD_ABI_STUBS]; /* where stacks begin, of the stub's function; 0: has none */
};
_Static_assert(sizeof(struct guard_row) == 112 + 8 * GUARD_ABI_STUBS, "ABI");

/* The pools of all targets lie in these addresses; size 0: there are none. Told by user space. */
struct guard_span {
	uint64_t start, size;
};

/*
 * Of one target each, by its pool's address, which hardly another process has its own at: what the code touches there
 * is touched by right, and left alone before it is known whose it is. No pool lies in two of these pieces of addresses.
 */
#define GUARD_ABI_PIECE_BITS 28
#define GUARD_ABI_RIGHTS     64
struct guard_right {
	uint64_t pool, size;	  /* size 0: of none */
	uint64_t code, code_size; /* bytes */
	uint64_t given;		  /* as guard_row's */
};

/* Places of all targets. */
#define GUARD_ABI_BLOCKS (1u << 18)

/* The last block of a place that is known. */
struct guard_block {
	uint64_t life;	   /* struct guard_abi_meta.life; 0: none so far */
	uint64_t told;	   /* the life of which a touch has been told */
	uint64_t touched;  /* address that touch was of */
	uint64_t freed_ns; /* bpf_ktime_get_ns(), up to a tick before; 0: not seen, or not freed */
	uint32_t alloc_slot,
		free_slot; /* counter slots, which stand for stacks; ABI_NO_SLOT: none */
	uint32_t touch_tid;
	uint32_t again; /* the same page has faulted since: GUARD_AGAIN_* */
};
#define GUARD_AGAIN_SAME  1u /* by the same thread: it had read, and has written now */
#define GUARD_AGAIN_OTHER 2u
_Static_assert(sizeof(struct guard_block) == 48, "ABI");

/* What was wrong, by kind and stacks. */
struct bad_access_key {
	uint32_t target_id;
	uint32_t kind; /* enum bad_access_kind of user/model/bad_access.h */
	uint32_t alloc_slot, free_slot, touch_slot;
};
_Static_assert(sizeof(struct bad_access_key) == 20, "ABI");

struct bad_access_value {
	uint64_t count;
	/* Of the first. */
	int64_t offset; /* from the block's beginning */
	uint64_t block, size;
	uint32_t tid;
	int32_t value; /* what has been written there; -1: not known */
	char comm[16];
};
_Static_assert(sizeof(struct bad_access_value) == 56, "ABI");

/* As a kind in an event: not told of, since the place was GUARD_ABI_BUSY. What has been touched is to be armed again. */
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
