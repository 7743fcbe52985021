/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk up the caller's stack: one function, whatever the method. */
#ifndef MEMLEAKBPF_BPF_WALK_H
#define MEMLEAKBPF_BPF_WALK_H

#include "bpf/config.h"
#include "bpf/regs.h"
#include <bpf/bpf_helpers.h>

struct frame_record {
	uint64_t fp; /* the caller's frame pointer */
	uint64_t pc; /* the return address */
};

/*
 * 64-bit hash over the frames and the way the walk ended, never 0 (0 names the allocations whose stack was not recorded). Each step
 * is invertible in the hash, so two stacks that differ in one frame only never collide; the multiplier is 2^64 / golden ratio.
 */
static __always_inline uint64_t hash_step(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/*
 * Fills event->frames, frame_count and end from the registers at an allocator function's entry: [0] is the probe's place, then
 * return addresses. The immediate caller's comes from the top of the stack (no frame has been pushed yet), the others along the
 * frame pointers. Returns the stack's hash, folded on the way: a second loop would double the work, the verifier's too.
 */
static __always_inline uint64_t walk_stack(const struct pt_regs *ctx, struct stack_event *event)
{
	struct frame_record record;
	uint64_t fp = regs_fp(ctx), pc = 0, hash;
	uint32_t n, max = config.max_frames;
	uint8_t end = STACK_END_TRUNCATED;

	event->frames[0] = regs_ip(ctx);
	hash = hash_step(0, event->frames[0]);
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&pc, sizeof(pc), (void *)regs_sp(ctx));
#else
	pc = regs_lr(ctx);
#endif
	for (n = 1; n < ABI_MAX_FRAMES && n < max; n++) {
		/* The outermost frame's pointers are zero by the ABI; anything unreadable or not above the last
		 * frame is no frame pointer at all. */
		if (!pc) {
			end = STACK_END_COMPLETE;
			break;
		}
		event->frames[n] = pc;
		hash = hash_step(hash, pc);
		record.fp = record.pc = 0;
		if (fp && ((fp & 7) || bpf_probe_read_user(&record, sizeof(record), (void *)fp)))
			end = STACK_END_READ_FAULT;
		else if (record.fp && record.fp <= fp)
			end = STACK_END_BAD_CFA;
		if (end != STACK_END_TRUNCATED) {
			n++;
			break;
		}
		fp = record.fp;
		pc = record.pc;
	}
	event->frame_count = n;
	event->end = end;
	hash = hash_step(hash, end);
	return hash ? hash : 1;
}

#endif
