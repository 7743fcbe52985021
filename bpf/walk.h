/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk up the caller's stack: one function, whatever the method. */
#ifndef MEMLEAKBPF_BPF_WALK_H
#define MEMLEAKBPF_BPF_WALK_H

#include "bpf/config.h"
#include "bpf/regs.h"
#include "bpf/thread.h"

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
 * Fills thread->event's frames, frame_count and end: [0] is the probe's place, then return addresses. Returns the stack's
 * hash, never 0 (0 names the allocations whose stack was not recorded).
 */
static __always_inline uint64_t walk_stack(struct thread_state *thread)
{
	struct unwind_state *state = &thread->unwind;

	unwind_stack(state, &thread->event);
	return state->hash;
}

#endif
