/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk up the caller's stack: one function, whatever the method. */
#ifndef MEMLEAKBPF_BPF_WALK_H
#define MEMLEAKBPF_BPF_WALK_H

#include "bpf/config.h"
#include "bpf/regs.h"
#include "bpf/thread.h"

#ifdef MEMLEAKBPF_OLD_KERNEL
/*
 * The unwinder of bpf/unwind.bpf.c, without tables: each frame is one of code without rows.
 */
static __always_inline int unwind_read(struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address)
{
	(void)state;
	return bpf_probe_read_user(to, size, (void *)address);
}

#define unwind_chunk(state, word)     ((const uint8_t *)NULL)
#define unwind_rule_at(state, number) ((const struct unwind_rule *)NULL)
#define unwind_target_of(state)	      ((const struct unwind_target *)NULL)
#define unwind_ask_kernel(state, pc)  UNWIND_UNKNOWN
#define unwind_recall(state)	      ABI_NO_SLOT
#define unwind_remember(state, slot)  ((void)0)
#define unwind_opaque(variable)	      barrier_var(variable)
#if defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64
#endif
#include "bpf/unwind_walk.h"

/* Few branches: the verifier of those kernels follows each turn. */
static __always_inline void walk_frame_pointers(struct unwind_state *state,
						struct stack_event *event)
{
	uint64_t sp = state->regs.sp, fp = state->regs.fp, frame[2] = {};
	uint64_t hash = unwind_mix(0, state->regs.pc);
	uint8_t end = STACK_END_TRUNCATED;
	uint32_t n;

	event->frames[0] = state->regs.pc;
#if defined(__TARGET_ARCH_arm64)
	frame[1] = state->regs.lr;
#else
	bpf_probe_read_user(&frame[1], sizeof(frame[1]), (void *)sp);
#endif
	for (n = 1; n < ABI_MAX_FRAMES && n < config.max_frames; n++) {
		uint64_t pc = frame[1] & UNWIND_ADDRESS_MASK;

		if (!pc) {
			end = STACK_END_COMPLETE;
			break;
		}
		event->frames[n] = pc;
		hash = unwind_mix(hash, pc);
		/* Without a frame pointer the next turn finds no caller: it ends there. */
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

/* Prepares a walk from the registers at an allocator function's entry. */
static __always_inline void walk_begin(const struct pt_regs *ctx, struct thread_state *thread,
				       uint32_t target_id)
{
	struct unwind_state *state = &thread->unwind;

	state->regs.pc = regs_ip(ctx);
	state->regs.sp = regs_sp(ctx);
	state->regs.fp = regs_fp(ctx);
#if defined(__TARGET_ARCH_arm64)
	state->regs.lr = regs_lr(ctx);
#endif
	state->target_id = target_id;
	state->flags = config.unwind_flags;
	state->max_frames = config.max_frames;
}

/*
 * Fills thread->event's frames, frame_count and end: [0] is the probe's place, then return
 * addresses. Returns the stack's hash, never 0 (0 names the allocations whose stack was not
 * recorded).
 */
static __always_inline uint64_t walk_stack(struct thread_state *thread)
{
	struct unwind_state *state = &thread->unwind;

#ifdef MEMLEAKBPF_OLD_KERNEL
	walk_frame_pointers(state, &thread->event);
#else
	unwind_stack(state, &thread->event);
#endif
	return state->hash;
}

#endif
