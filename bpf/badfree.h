/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --check-frees finds frees of blocks that are freed already, of addresses that are no block's, and
 * by functions of another family than the allocation's. Switched off, it costs nothing: config is
 * constant and the verifier drops the code. Findings are kept by kind and stacks in `bad_frees`,
 * not sent: a loop of bad frees costs one row.
 */
#ifndef MEMLEAKBPF_BPF_BADFREE_H
#define MEMLEAKBPF_BPF_BADFREE_H

#include "bpf/current.h"
#include "bpf/kinds.h"
#include "bpf/pending.h"
#include "bpf/stack.h"

enum named_kind { NAMED_ALLOC, NAMED_FREE };

/* Kernels before 5.15 lack the helpers for this. */
#ifdef MEMLEAKBPF_OLD_KERNEL
#define CHECK_FREES false
#else
#define CHECK_FREES config.check_frees
#endif
/*
 * A checked free has its stack walked. A program of its own does that (checked_free_enter), which
 * knows runtimes as well: the usual one walks no stack.
 */
#ifdef MEMLEAKBPF_MANAGED
#define CHECK_RELEASES CHECK_FREES
#else
#define CHECK_RELEASES false
#endif

/* ---- families ----------------------------------------------------------------------------- */

/*
 * Is the operator still running that was entered last? Its return address is where it was. Its
 * callees are deeper, or at the same place if it jumps there.
 */
static __always_inline bool named_active(struct named_call *call, uint64_t sp)
{
	uint64_t word = 0;

	if (call->sp && sp <= call->sp &&
	    !bpf_probe_read_user(&word, sizeof(word), (void *)call->sp) &&
	    word == call->return_address)
		return true;
	/* Later calls may put the same word there, or leave an old one. */
	call->sp = 0;
	return false;
}

/*
 * new[] calls new, and sized delete calls delete: the outermost one counts. The same function at
 * the same place is a new call, not one inside. `block` is to be freed.
 */
static __always_inline void named_enter(struct pt_regs *ctx, struct thread_state *thread,
					enum named_kind kind, union probe_cookie cookie,
					uint64_t block)
{
	struct named_call *call = &thread->named[kind];
	uint64_t sp = regs_sp(ctx), ip = regs_ip(ctx);

	if (named_active(call, sp) && (sp != call->sp || ip != call->ip)) {
		/* The library's new[] calls the program's new. */
		call->one_block &= cookie.one_block;
		return;
	}
	call->sp = sp;
	call->ip = ip;
	call->block = block;
	call->family = cookie.family;
	call->one_block = cookie.one_block;
	if (bpf_probe_read_user(&call->return_address, sizeof(call->return_address), (void *)sp))
		call->sp = 0;
}

/* The family of a call of malloc at `sp`: the operator's around it, else its own. */
static __always_inline uint32_t alloc_family_at(struct thread_state *thread, uint64_t sp,
						uint32_t own)
{
	struct named_call *call = &thread->named[NAMED_ALLOC];

	return named_active(call, sp) ? call->family : own;
}

/*
 * An operator may allocate for itself, too: its books, or the exception that it throws when it
 * fails. Then nobody knows which block it will return, so none of them gets a family.
 */
static __always_inline void named_is_unclear(struct named_call *call, uint32_t target_id)
{
	struct live_key first = {.address = call->block, .target_id = target_id};
	uint32_t any = FAMILY_ANY;

	call->family = FAMILY_ANY;
	call->one_block = false;
	if (call->block)
		bpf_map_update_elem(&families, &first, &any, BPF_EXIST);
}

static __always_inline uint32_t named_allocated(struct named_call *call, uint32_t target_id,
						uint64_t address, uint32_t family)
{
	if (call->one_block) {
		/* The next call of malloc belongs to another operator. */
		call->sp = 0;
		return family;
	}
	if (!call->block) {
		call->block = address;
		return family;
	}
	named_is_unclear(call, target_id);
	return FAMILY_ANY;
}

/* The call of malloc at `sp` has failed: the next allocation is not the wanted block. */
static __always_inline void note_failed(struct thread_state *thread, uint32_t target_id,
					uint64_t sp)
{
	struct named_call *call = &thread->named[NAMED_ALLOC];

	if (named_active(call, sp))
		named_is_unclear(call, target_id);
}

/* Notes a new block of a call of malloc at `sp`. */
static __always_inline void note_allocated(struct thread_state *thread, uint32_t target_id,
					   uint64_t sp, uint64_t address, uint32_t family)
{
	struct live_key key = {.address = address, .target_id = target_id};
	struct named_call *call = &thread->named[NAMED_ALLOC];

	if (named_active(call, sp))
		family = named_allocated(call, target_id, address, family);
	bpf_map_delete_elem(&freed, &key);
	if (family == FAMILY_MALLOC) {
		bpf_map_delete_elem(&families, &key);
		return;
	}
	/* A lost family would later count as malloc's. */
	if (bpf_map_update_elem(&families, &key, &family, BPF_ANY))
		count_lost(target_id, LOST_LIVE_FULL);
}

/* Takes out the family of a block that has just been freed. */
static __always_inline uint32_t take_family(const struct live_key *key)
{
	uint32_t *found = bpf_map_lookup_elem(&families, key), family;

	if (!found)
		return FAMILY_MALLOC;
	family = *found;
	bpf_map_delete_elem(&families, key);
	return family;
}

/* ---- what is found ------------------------------------------------------------------------ */

/*
 * Functions that end before the walk have frames of their own. Kernels before 6.8 count each frame
 * as a multiple of 32 bytes, with 512 for all.
 */
static __noinline int report_bad_free(const struct bad_free_key *key, uint64_t address,
				      uint64_t block, uint64_t size)
{
	struct bad_free_value first = {
		.count = 1, .address = address, .block = block, .size = size};
	struct bad_free_value *value = bpf_map_lookup_elem(&bad_frees, key);

	if (!value && bpf_map_update_elem(&bad_frees, key, &first, BPF_NOEXIST))
		value = bpf_map_lookup_elem(&bad_frees, key);
	else if (!value)
		return 0;
	if (value)
		__sync_fetch_and_add(&value->count, 1);
	else
		count_lost(key->target_id, LOST_BAD_FREES);
	return 0;
}

/* The stack of this free. ABI_NO_SLOT without room. */
static __always_inline uint32_t free_slot(struct pt_regs *ctx, const struct target_info *target)
{
	struct thread_state *thread = current_thread_new(target);

	if (thread)
		thread->event.arena = 0;
	if (SCOPES && thread)
		thread->scope = 0;
	return thread ? stack_slot(ctx, 0, 0, thread, target) : ABI_NO_SLOT;
}

/*
 * The family of a free of `size` bytes at `address`. It is that of the operator around it, if the
 * operator was given this block (or has it inside, behind a header of its own). Else it is the
 * function's own.
 */
static __always_inline uint32_t free_family(struct pt_regs *ctx, uint32_t own, uint64_t address,
					    uint64_t size)
{
	struct thread_state *thread = current_thread();
	struct named_call *call;

	if (!thread)
		return own;
	call = &thread->named[NAMED_FREE];
	if (!named_active(call, regs_sp(ctx)) ||
	    (call->block != address && call->block - address >= size))
		return own;
	call->sp = 0;
	return call->family;
}

static __always_inline void note_freed(const struct live_key *key, uint64_t size,
				       uint32_t alloc_slot, uint32_t slot)
{
	struct freed_block block = {.size = size, .alloc_slot = alloc_slot, .free_slot = slot};

	bpf_map_update_elem(&freed, key, &block, BPF_ANY);
}

/* A resized block has been freed at its old place, unless it has stayed there. */
static __always_inline void note_resized(const struct pending *p, uint64_t address)
{
	struct live_key key = {.address = p->old_address, .target_id = p->target_id};

	take_family(&key);
	if (address != p->old_address)
		note_freed(&key, p->old.size, live_slot(&p->old), p->slot);
}

/* As take_family() and note_freed(), in frames of their own. */
static __noinline uint32_t take_family_at(uint32_t target_id, uint64_t address)
{
	struct live_key at = {.address = address, .target_id = target_id};

	return take_family(&at);
}

static __noinline int note_freed_at(uint32_t target_id, uint64_t address, uint64_t size,
				    uint32_t alloc_slot, uint32_t slot)
{
	struct live_key at = {.address = address, .target_id = target_id};

	note_freed(&at, size, alloc_slot, slot);
	return 0;
}

/* Checks a good free, which may be by the wrong function. */
static __always_inline void check_known_free(struct pt_regs *ctx, const struct target_info *target,
					     uint64_t address, uint32_t own,
					     const struct live_value *block)
{
	struct bad_free_key key = {.target_id = target->id,
				   .kind = BAD_FREE_MISMATCH,
				   .alloc_slot = live_slot(block),
				   .first_slot = ABI_NO_SLOT};

	key.free_family = free_family(ctx, own, address, block->size);
	key.alloc_family = take_family_at(target->id, address);
	key.free_slot = free_slot(ctx, target);
	note_freed_at(target->id, address, block->size, live_slot(block), key.free_slot);
	if (key.alloc_family != key.free_family && key.alloc_family && key.free_family)
		report_bad_free(&key, address, address, block->size);
}

/* ---- addresses that are no block's -------------------------------------------------------- */

/* How far before the address a block may begin that holds it; blocks begin at multiples of 8. */
#define INSIDE_STEPS	      (1u << 17) /* 1 MiB, where unknown addresses are rare */
#define INSIDE_STEPS_ATTACHED (1u << 11)

struct inside {
	struct live_key key;
	uint64_t address;
	struct live_value block;
	uint32_t found;
	uint32_t pad;
};

static long look_back(uint32_t i, struct inside *in)
{
	struct live_value *value;

	(void)i;
	in->key.address -= 8;
	value = bpf_map_lookup_elem(&live, &in->key);
	if (!value)
		return 0;
	/* Blocks do not overlap: only the nearest one before the address can hold it. */
	in->block = *value;
	in->found = in->address < in->key.address + value->size;
	return 1;
}

/* Are there unrecorded blocks, so that an unknown address may be right? */
static __always_inline bool has_gaps(uint32_t target_id)
{
	struct target_stats *stats = target_stats_of(target_id);

	return !stats || stats->lost[LOST_LIVE_FULL] || stats->lost[LOST_THREADS_FULL] ||
	       stats->lost[LOST_PENDING] || stats->lost[LOST_OUT_POINTER];
}

struct bad_place {
	uint64_t block, size;
};

/*
 * Looks for a block at or around the address. False: nothing speaks against it. In a frame of its
 * own, like report_bad_free().
 */
static __noinline int find_bad_place(struct bad_free_key *key, uint64_t address, int whole,
				     struct bad_place *place)
{
	struct inside in = {.key = {.address = address, .target_id = key->target_id},
			    .address = address};
	struct freed_block *before = bpf_map_lookup_elem(&freed, &in.key);

	if (before) {
		key->kind = BAD_FREE_DOUBLE;
		key->alloc_slot = before->alloc_slot;
		key->first_slot = before->free_slot;
		place->size = before->size;
		return 1;
	}
	in.key.address = (address + 7) & ~7ull;
	bpf_loop(whole ? INSIDE_STEPS : INSIDE_STEPS_ATTACHED, look_back, &in, 0);
	if (!in.found && !whole)
		return 0;
	key->kind = in.found ? BAD_FREE_INSIDE : BAD_FREE_UNKNOWN;
	if (in.found) {
		key->alloc_slot = live_slot(&in.block);
		place->block = in.key.address;
		place->size = in.block.size;
	}
	return 1;
}

/* False: nothing speaks against it. */
static __always_inline bool check_bad_free(struct pt_regs *ctx, const struct target_info *target,
					   uint64_t address, uint32_t own)
{
	struct bad_free_key key = {
		.target_id = target->id, .alloc_slot = ABI_NO_SLOT, .first_slot = ABI_NO_SLOT};
	struct bad_place place = {.block = address};
	bool whole = target->flags & TARGET_WHOLE && !has_gaps(target->id);

	if (!find_bad_place(&key, address, whole, &place))
		return false;
	key.free_family = free_family(ctx, own, address, place.size);
	key.free_slot = free_slot(ctx, target);
	report_bad_free(&key, address, place.block, place.size);
	return true;
}

#endif
