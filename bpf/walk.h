/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk up the caller's stack: one function, whatever the method. */
#ifndef MEMLEAKBPF_BPF_WALK_H
#define MEMLEAKBPF_BPF_WALK_H

#include "bpf/config.h"
#include "bpf/regs.h"
#include "bpf/stack_end.h"
#include "bpf/thread.h"

#ifdef MEMLEAKBPF_OLD_KERNEL
/* The unwinder of bpf/unwind.bpf.c, without tables: each frame is one of code without rows. */
#include "bpf/unwind_maps.h"

static __always_inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address)
{
	(void)state;
	return bpf_probe_read_user(to, size, (void *)address);
}

static __always_inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
								uint32_t number)
{
	(void)state;
	(void)number;
	return NULL;
}

static __always_inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc)
{
	(void)state;
	(void)pc;
	return UNWIND_UNKNOWN;
}

static __always_inline bool unwind_undo_return_probe(struct unwind_state *state)
{
	(void)state;
	return false;
}

static __always_inline int unwind_frame_size(const struct unwind_state *state)
{
	(void)state;
	return UNWIND_FRAME_OTHER;
}

#define unwind_recall(state)	     ABI_NO_SLOT
#define unwind_remember(state, slot) ((void)0)
#if defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64
#endif
#include "bpf/unwind_walk.h"

/*
 * The target's code, as user space has told it: NULL if it has not, or if that is no longer right.
 * The search's other inputs are kept in *state: the verifier follows the walk for each value of a
 * register that it can tell from others.
 */
static __always_inline const uint8_t *walk_set(struct unwind_state *state)
{
	const struct unwind_target *target = unwind_target_of(state);

	state->set = target ? unwind_trusted_set(target) : 0;
	state->remaps = target ? target->remaps : 0;
	return state->set ? unwind_chunk(state, (uint32_t)state->set) : NULL;
}

#if defined(__TARGET_ARCH_arm64)
/*
 * Goes by the address alone: with the search below the verifier gives up on this machine. So a
 * library takes the name of a closed one whose place it has.
 */
static __always_inline uint64_t walk_token(const struct unwind_state *state, const uint8_t *chunk,
					   uint64_t pc, uint64_t *known)
{
	(void)state;
	(void)chunk;
	*known = 1;
	return pc;
}
#else
/*
 * A place's part of the stack's hash, as in unwind_look_up(). *known is all ones if the place lies
 * in the set, else 0. The hash is provisional then, and user space finds the final one
 * (user/trace/events.c). Computes where unwind_in_set() branches.
 */
static __always_inline uint64_t walk_token(const struct unwind_state *state, const uint8_t *chunk,
					   uint64_t pc, uint64_t *known)
{
	uint64_t unknown = unwind_mix(pc, state->remaps), found = 0, start, object, base;
	uint32_t step, count = state->set >> 32, at = UNWIND_BYTE((uint32_t)state->set);
	const struct unwind_mapping *mapping;
	uint64_t has_object;

	*known = 0;
	if (!chunk)
		return unknown;
#pragma unroll
	for (step = UNWIND_MAX_MAPPINGS / 2; step; step /= 2)
		found = unwind_try_start(chunk, at, count, pc, found, step);
	start = *(const uint64_t *)(chunk + ((at + found * 8) & (UNWIND_CHUNK_BYTES - 8)));
	at += (count * 8 + UNWIND_SET_ALIGN - 1) & ~(UNWIND_SET_ALIGN - 1);
	mapping = (const void *)(chunk + ((at + found * UNWIND_SET_ALIGN) &
					  (UNWIND_CHUNK_BYTES - UNWIND_SET_ALIGN)));
	object = mapping->object;
	base = mapping->base;
	/* `stale` is 0 or 1. */
	*known = unwind_not_above(start, pc) & unwind_not_above(pc + 1, mapping->end) &
		 ((uint64_t)mapping->stale - 1);
	has_object = unwind_not_above(1, object);
	return (unwind_mix(pc - base, object) & has_object & *known) | (pc & ~has_object & *known) |
	       (unknown & ~*known);
}
#endif

/* Few branches: the verifier of those kernels follows each turn. */
static __always_inline void walk_frame_pointers(struct unwind_state *state,
						struct stack_event *event, uint32_t flags)
{
	uint64_t sp = state->regs.sp, fp = state->regs.fp, frame[2] = {}, known;
	const uint8_t *chunk = walk_set(state);
	uint64_t hash = unwind_mix(0, walk_token(state, chunk, state->regs.pc, &known));
	uint8_t end = STACK_END_TRUNCATED;
	uint32_t n;

	event->frames[0] = state->regs.pc;
	if (flags & UNWIND_INSIDE) {
		/* If the function has made itself a frame, the caller is behind that. */
		if ((fp & 7) || fp < sp || bpf_probe_read_user(frame, sizeof(frame), (void *)fp)) {
			state->end = STACK_END_NO_ROWS;
			state->hash = hash;
			unwind_finish(state, event, 1);
			return;
		}
		sp = fp;
		fp = frame[0];
	} else {
#if defined(__TARGET_ARCH_arm64)
		frame[1] = state->regs.lr;
#else
		bpf_probe_read_user(&frame[1], sizeof(frame[1]), (void *)sp);
#endif
	}
	for (n = 1; n < ABI_MAX_FRAMES && n < config.max_frames; n++) {
		uint64_t pc = frame[1] & UNWIND_ADDRESS_MASK, token;

		if (!pc) {
			end = STACK_END_COMPLETE;
			break;
		}
		token = walk_token(state, chunk, pc - 1, &known);
		/* The first caller is certain; a frame pointer may lead to anything. */
		if (!(flags & UNWIND_INSIDE))
			known |= unwind_same(n, 1);
		if (!known) {
			uint64_t code = 0;

			bpf_probe_read_user(&code, UNWIND_CALL_BYTES,
					    (void *)(pc - UNWIND_CALL_BYTES));
			known = unwind_is_call(code);
		}
		if (!known) {
			end = STACK_END_NO_ROWS;
			break;
		}
		event->frames[n] = pc;
		hash = unwind_mix(hash, token);
		/* Without a frame pointer the next turn finds no caller, and ends. */
		frame[0] = frame[1] = 0;
		if (fp && ((fp & 7) || fp <= sp ||
			   bpf_probe_read_user(frame, sizeof(frame), (void *)fp))) {
			end = STACK_END_NO_ROWS;
			n++;
			break;
		}
		sp = fp;
		fp = frame[0];
	}
	state->end = end;
	state->hash = hash;
	unwind_finish(state, event, n);
}
#endif

/*
 * Prepares a walk from the registers at an allocator function's entry; `pc`, if not 0, replaces the
 * probe's place. `flags`: UNWIND_INSIDE, or 0.
 */
static __always_inline void walk_begin(const struct pt_regs *ctx, uint64_t pc, uint32_t flags,
				       struct thread_state *thread, uint32_t target_id)
{
	struct unwind_state *state = &thread->unwind;

	state->regs.pc = pc ? pc : regs_ip(ctx);
	state->regs.sp = regs_sp(ctx);
	state->regs.fp = regs_fp(ctx);
#if defined(__TARGET_ARCH_arm64)
	state->regs.lr = regs_lr(ctx);
#endif
	state->target_id = target_id;
	state->flags = config.unwind_flags | flags;
	state->max_frames = config.max_frames;
}

/*
 * Fills thread->event's frames, frame_count and end: [0] is the probe's place, then return
 * addresses. Returns the stack's hash, never 0 (0 names the allocations whose stack was not
 * recorded). `flags`: as for walk_begin().
 */
static __always_inline uint64_t walk_stack(struct thread_state *thread, uint32_t flags)
{
	struct unwind_state *state = &thread->unwind;

#ifdef MEMLEAKBPF_OLD_KERNEL
	walk_frame_pointers(state, &thread->event, flags);
#else
	(void)flags;
	unwind_stack(state, &thread->event);
#endif
	return state->hash;
}

#endif
