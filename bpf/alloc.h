/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The work of the probes on allocator functions. bpf/alloc.bpf.c has the programs, bpf/old.bpf.c
 * those for kernels before 5.15.
 */
#ifndef MEMLEAKBPF_BPF_ALLOC_H
#define MEMLEAKBPF_BPF_ALLOC_H

#include "bpf/alloc_op.h"
#include "bpf/badfree.h"
#include "bpf/current.h"
#include "bpf/managed.h"
#include "bpf/pending.h"
#include "bpf/pool.h"
#include "bpf/stack.h"

#define MAP_FAILED  ((uint64_t)-1)
#define MAP_ANON    0x20
#define MAP_PRIVATE 0x02
#define PROT_WRITE  0x2

/* The size that mmap() and munmap() use. */
static __always_inline uint64_t size_in_pages(uint64_t size)
{
	uint64_t mask = (uint64_t)config.page_size - 1;

	return (size + mask) & ~mask;
}

static __always_inline uint64_t requested_size(const struct pt_regs *ctx, union probe_cookie cookie)
{
	uint64_t size = regs_argument(ctx, cookie.size_arg);

	/* An overflowing product makes the call fail, so its value does not matter. */
	if (cookie.count_arg)
		size *= regs_argument(ctx, cookie.count_arg);
	if (cookie.op == OP_MMAP || cookie.op == OP_MREMAP)
		size = size_in_pages(size);
	return size;
}

/* Does the mapping hold memory of the program's own, and not show it a file? */
static __always_inline bool mmap_holds_memory(const struct pt_regs *ctx)
{
	uint64_t prot = regs_argument(ctx, 3), flags = regs_argument(ctx, 4);

	return (flags & MAP_ANON) || ((flags & MAP_PRIVATE) && (prot & PROT_WRITE));
}

/*
 * Takes the block that is being resized out of the live map until the outcome is known. Another
 * thread may get its address before this call returns. Its counters stay as they are.
 */
static __always_inline void detach_old(struct pending *p, uint64_t address)
{
	struct live_value old;

	p->old_address = address;
	p->old.slot = ABI_NO_SLOT;
	if (address && live_take(p->target_id, address, &old))
		p->old = old;
}

/*
 * An allocator's own mmap is not the program's, even if the call that needs it is not recorded. A
 * probe on that call's return would cost a trap. Without one we know where it returns to, as long
 * as that is still on the stack.
 */
static __always_inline void remember_unrecorded(struct pt_regs *ctx, struct thread_state *thread,
						union probe_cookie cookie)
{
#if defined(__TARGET_ARCH_x86)
	struct pending *p = &thread->unrecorded;

	if (cookie.op == OP_MMAP || cookie.op == OP_MREMAP)
		return;
	p->flags = PENDING_BARE;
	p->ip = regs_ip(ctx);
	p->sp = regs_sp(ctx);
	if (bpf_probe_read_user(&p->return_address, sizeof(p->return_address), (void *)p->sp))
		p->sp = 0;
#else
	(void)ctx;
	(void)thread;
	(void)cookie;
#endif
}

/* Does an unrecorded call make the mmap that is entered at `sp`? */
static __always_inline bool maps_for_unrecorded(const struct thread_state *thread,
						union probe_cookie cookie, uint64_t sp, uint64_t ip)
{
	if (!config.mmap || (cookie.op != OP_MMAP && cookie.op != OP_MREMAP))
		return false;
	return thread->unrecorded.sp && !bare_call_is_over(&thread->unrecorded, sp, ip);
}

static __always_inline void count_nested(uint32_t target_id)
{
	struct target_stats *stats = target_stats_of(target_id);

	if (stats)
		__sync_fetch_and_add(&stats->nested, 1);
}

/* The arena that begins at the address; NULL: none does. */
static __always_inline struct live_value *arena_at(uint32_t target_id, uint64_t address)
{
	struct live_key key = {.address = address, .target_id = target_id};
	struct live_value *value = bpf_map_lookup_elem(&live, &key);
	const struct slot_info *info;
	uint32_t room;

	if (!value)
		return NULL;
	info = bpf_map_lookup_elem(&slot_infos, live_slot_key(value, &room));
	return info && info->arena ? value : NULL;
}

/* Is the call about an arena: to be mapped, or to change its size? */
static __always_inline bool call_is_of_arena(struct pt_regs *ctx, union probe_cookie cookie,
					     uint32_t target_id, uint64_t size)
{
	if (cookie.op == OP_MMAP)
		return pool_maps(ctx, target_id, size);
	return cookie.op == OP_MREMAP &&
	       arena_at(target_id, regs_argument(ctx, cookie.ptr_arg)) != NULL;
}

/*
 * Is the entered call about an arena? Not in a variable, for which the verifier would go on twice.
 */
static __always_inline bool maps_arena(const struct thread_state *thread)
{
	return *(volatile uint8_t *)&thread->event.arena;
}

/* Marks the slot of a stack that maps arenas. */
static __always_inline void mark_arenas(uint32_t slot)
{
	struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);

	/* Allocations without a stack share a slot. */
	if (!info || !info->stack_id)
		return;
	info->arena = 1;
	info->weighed = config.sample_bytes != 0;
}

/* Where the block will be counted: for an arena that changes its size, at its old slot. */
static __always_inline uint32_t slot_at_entry(struct pt_regs *ctx, const struct pending *p,
					      struct thread_state *thread,
					      const struct target_info *target, bool wanted)
{
	uint32_t slot;

	if (!wanted)
		return ABI_NO_SLOT;
	if (p->op == OP_REALLOC && p->flags & PENDING_ARENA)
		return live_slot(&p->old);
	slot = stack_slot(ctx, 0, 0, thread, target);
	if (maps_arena(thread))
		mark_arenas(slot);
	return slot;
}

/*
 * Notes a call that is not followed, unless it is inside another one: that is none of the
 * program's.
 */
static __always_inline void allocates_unseen(struct pt_regs *ctx, struct thread_state *thread)
{
	if (!FIGURES(temporary) || !thread)
		return;
	if (!thread->depth || !pending_nested(thread, regs_sp(ctx), regs_ip(ctx)))
		temporary_passed(thread, 0);
}

/*
 * The second part of enter(): the call is followed; `wanted`: and recorded. Returns 0 or 1 as
 * enter() does.
 */
static __always_inline int enter_followed(struct pt_regs *ctx, union probe_cookie cookie,
					  const struct target_info *target,
					  struct thread_state *thread, uint64_t size, bool wanted)
{
	bool resize = cookie.op == OP_REALLOC || cookie.op == OP_MREMAP;
	struct pending *p = pending_push(thread, target->id);
	uint64_t sp = regs_sp(ctx);

	if (!p)
		return 1;
	p->sp = sp;
	p->size = size;
	p->target_id = target->id;
	p->op = resize ? OP_REALLOC : cookie.op;
	p->own = cookie.own;
	p->flags = (cookie.bare ? PENDING_BARE : 0) | (maps_arena(thread) ? PENDING_ARENA : 0);
	if (resize)
		detach_old(p, regs_argument(ctx, cookie.ptr_arg));
	else
		p->old_address = regs_argument(ctx, cookie.ptr_arg);
	p->slot = slot_at_entry(ctx, p, thread, target, wanted);
	if (SCOPES)
		p->scope = scope_mark_of(thread);
	p->family = CHECK_FREES ? alloc_family_at(thread, sp, cookie.family) : 0;
	if (cookie.bare) {
		p->ip = regs_ip(ctx);
		bpf_probe_read_user(&p->return_address, sizeof(p->return_address), (void *)sp);
	}
	return 0;
}

/*
 * The second part, in the program that knows runtimes. The first one has found that the call is
 * wanted, and left its results in the thread's state.
 */
static __always_inline int enter_managed_part(struct pt_regs *ctx, union probe_cookie cookie)
{
	struct thread_state *thread = NULL;
	struct target_info target;

	if (!current_watched(&target, &thread))
		return 1;
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 1;
	return enter_followed(ctx, cookie, &target, thread, requested_size(ctx, cookie), true);
}

/*
 * 0: the return is wanted; 1: it is not (a session then skips it). `managed`: the array with the
 * program that goes on for targets with a runtime.
 */
static __always_inline int enter(struct pt_regs *ctx, union probe_cookie cookie, void *managed)
{
	struct thread_state *thread = NULL;
	uint64_t size, sp = regs_sp(ctx);
	bool resize = cookie.op == OP_REALLOC || cookie.op == OP_MREMAP;
	bool wanted, arena;
	struct target_info target;
	uint32_t id;

	if (!current_watched(&target, &thread))
		return 1;
	id = target.id;
	size = requested_size(ctx, cookie);
	wanted = size >= config.min_size && size <= config.max_size;
	arena = call_is_of_arena(ctx, cookie, id, size);
	if (cookie.op == OP_MMAP && !arena && (!config.mmap || !mmap_holds_memory(ctx)))
		return 1;
	if (cookie.op == OP_MREMAP && !arena && !config.mmap)
		return 1;
	if (!wanted && !cookie.nests && !config.mmap) {
		allocates_unseen(ctx, thread);
		return 1;
	}
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 1;
	thread->event.arena = arena;
	if (thread->depth && pending_nested(thread, sp, regs_ip(ctx))) {
		count_nested(id);
		return pending_tail_call(thread, sp) ? 0 : 1;
	}
	if (maps_for_unrecorded(thread, cookie, sp, regs_ip(ctx))) {
		count_nested(id);
		return 1;
	}
	if (FIGURES(temporary))
		temporary_passed(thread, resize ? regs_argument(ctx, cookie.ptr_arg) : 0);
	if (SCOPES && !scope_look(ctx, thread, id))
		wanted = false;
	/* An arena is a sample already. */
	if (wanted && config.sample_bytes && !maps_arena(thread))
		wanted = sample_hit(thread, size);
	if (!wanted && !cookie.nests) {
		if (config.mmap)
			remember_unrecorded(ctx, thread, cookie);
		return 1;
	}
	/* All that must happen once has happened, and nothing else yet. */
	if (wanted)
		go_on_managed(ctx, &target, managed);
	return enter_followed(ctx, cookie, &target, thread, size, wanted);
}

/* The call succeeded or failed; `address` is its new block, 0 when there is none. */
static __always_inline void settle_resize(const struct thread_state *thread, struct pending *p,
					  uint64_t address)
{
	/*
	 * realloc(p, 0) frees the block if it returns NULL; any other NULL is a failure that leaves
	 * it alone.
	 */
	bool old_gone = address || !p->size;

	if (!p->old_address)
		return;
	if (!old_gone) {
		pending_abandon(p);
		return;
	}
	if (p->old.slot != ABI_NO_SLOT) {
		struct live_value old = p->old;

		count_free_of(&old);
		figures_freed(thread, p->old_address, &old);
		if (CHECK_FREES)
			note_resized(p, address);
		return;
	}
	count_unknown_free(p->target_id);
}

/* An arena that has changed its size in place goes on as the same block. */
static __always_inline bool settle_arena(const struct pending *p, uint64_t address)
{
	struct live_key key = {.address = address, .target_id = p->target_id};
	struct live_value value = p->old;

	if (p->op != OP_REALLOC || !(p->flags & PENDING_ARENA) || p->slot == ABI_NO_SLOT ||
	    !address || address != p->old_address)
		return false;
	if (p->size > value.size)
		count_grown(&value, p->size);
	else
		count_cut(&value, p->size);
	if (live_put(&key, &value, BPF_NOEXIST)) {
		count_free_of(&value);
		count_lost(p->target_id, LOST_LIVE_FULL);
	}
	return true;
}

/* The row of the user's own function; NULL: the call is of another one. */
static __always_inline struct own_function *own_function_of(const struct pending *p)
{
	uint64_t row = p->own;

	if (!row)
		return NULL;
	/* The mask shows the verifier that the row is one of them. */
	row--;
	barrier_var(row);
	return &own_functions[row & (OWN_FUNCTIONS_MAX - 1)];
}

/* Counts a returned call of a user's own function, to tell when all of them fail. */
static __always_inline void own_function_returned(const struct pending *p, uint64_t result,
						  bool failed)
{
	struct own_function *own = own_function_of(p);

	if (!own)
		return;
	__sync_fetch_and_add(&own->calls, 1);
	if (!failed)
		return;
	own->result = (int64_t)result;
	__sync_fetch_and_add(&own->failed, 1);
}

/* Did the function that stores its block through an argument succeed? */
static __always_inline bool out_call_succeeded(const struct pending *p, uint64_t result)
{
	const struct own_function *own = own_function_of(p);

	return (int)result == (own ? (int)own->ok : 0);
}

/* A call ends that was entered at `sp`. */
static __always_inline int leave(struct pt_regs *ctx, uint64_t sp)
{
	struct thread_state *thread = current_thread();
	uint64_t address = regs_result(ctx);
	struct pending *p;

	if (!thread)
		return 0;
	p = pending_pop(thread, sp);
	if (!p || target_is_given_up(thread, p->target_id))
		return 0;
	if (p->op == OP_ALLOC_OUT) {
		if (!out_call_succeeded(p, address)) {
			own_function_returned(p, address, true);
			if (CHECK_FREES)
				note_failed(thread, p->target_id, sp);
			return 0;
		}
		if (bpf_probe_read_user(&address, sizeof(address), (void *)p->old_address)) {
			count_lost(p->target_id, LOST_OUT_POINTER);
			return 0;
		}
	}
	own_function_returned(p, address, !address || address == MAP_FAILED);
	if (address == MAP_FAILED)
		address = 0;
	if (settle_arena(p, address))
		return 0;
	if (p->op == OP_REALLOC)
		settle_resize(thread, p, address);
	if (CHECK_FREES && !address)
		note_failed(thread, p->target_id, sp);
	if (!address || p->slot == ABI_NO_SLOT)
		return 0;
	/*
	 * After an exception, calls inside this one counted as calls of their own, and have
	 * recorded the block.
	 */
	if (p->flags & PENDING_UNWOUND && live_has(p->target_id, address))
		return 0;
	live_insert(thread, p->target_id, address, p->size,
		    p->flags & PENDING_ARENA && config.sample_bytes ? p->size
		    : SCOPES					    ? p->scope
								    : 0,
		    p->slot, p->op == OP_MMAP);
	if (CHECK_FREES)
		note_allocated(thread, p->target_id, sp, address, (uint32_t)p->family);
	if (p->op == OP_MMAP) {
		thread->mmap_address = address;
		thread->mmap_size = p->size;
	}
	return 0;
}

/* On the functions that unwind the stack; see bare_call_is_over(). */
static __always_inline int stack_unwinds(struct pt_regs *ctx, union probe_cookie cookie)
{
	struct thread_state *thread = current_thread();

	if (!thread)
		return 0;
	if (cookie.op == OP_CATCH)
		pending_caught(thread, regs_sp(ctx));
	else
		pending_unwind(thread);
	return 0;
}

/*
 * An allocator that wraps another one (an LD_PRELOADed malloc that adds a header) frees its own
 * block, then the other's. Nobody was given the inner block's address. A free has no return probe:
 * the outer one still runs while its return address is where it was, above the inner one's stack
 * pointer.
 */
static __always_inline void free_remember(struct pt_regs *ctx, struct thread_state *thread)
{
	thread->free_sp = regs_sp(ctx);
	if (bpf_probe_read_user(&thread->free_return, sizeof(thread->free_return),
				(void *)thread->free_sp))
		thread->free_sp = 0;
}

static __always_inline bool free_nested(struct pt_regs *ctx, const struct thread_state *thread)
{
	uint64_t return_address = 0;

	return thread->free_sp >= regs_sp(ctx) &&
	       !bpf_probe_read_user(&return_address, sizeof(return_address),
				    (void *)thread->free_sp) &&
	       return_address == thread->free_return;
}

static __always_inline int release(struct pt_regs *ctx, union probe_cookie cookie)
{
	uint64_t address = regs_argument(ctx, cookie.ptr_arg);
	struct thread_state *thread = NULL;
	struct target_info target;
	struct live_value value;

	if (!address || !current_watched(&target, &thread))
		return 0;
	if (live_take(target.id, address, &value)) {
		count_free(live_slot(&value), value.size, 0);
		scope_freed(ctx, &value);
		figures_freed(thread, address, &value);
		if (CHECK_RELEASES)
			check_known_free(ctx, &target, address, cookie.family, &value);
		if (!(target.flags & TARGET_LAYERED))
			return 0;
		if (!thread)
			thread = current_thread_new(&target);
		if (thread)
			free_remember(ctx, thread);
		return 0;
	}
	/* Most blocks are not recorded then: leaves early. */
	if (config.sample_bytes || SCOPES_ONLY)
		return 0;
	/* realloc frees the old block itself; its entry has taken that out already. */
	if (thread && thread->depth && pending_nested(thread, regs_sp(ctx), regs_ip(ctx)))
		return 0;
	if (thread && (target.flags & TARGET_LAYERED) && free_nested(ctx, thread))
		return 0;
	if (CHECK_RELEASES && check_bad_free(ctx, &target, address, cookie.family))
		return 0;
	count_unknown_free(target.id);
	return 0;
}

#endif
