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
 * Fills event->frames, frame_count and end from the registers at an allocator function's entry: [0] is the probe's place, then
 * return addresses. The immediate caller's comes from the top of the stack (no frame has been pushed yet), the others along the frame pointers.
 */
static __always_inline void walk_stack(const struct pt_regs *ctx, struct stack_event *event)
{
	struct frame_record record;
	uint64_t fp = regs_fp(ctx);
	uint64_t pc = 0;
	uint32_t n = 2, max = config.max_frames;

	event->frames[0] = regs_ip(ctx);
	event->end = STACK_END_READ_FAULT;
	event->frame_count = 1;
#if defined(__TARGET_ARCH_x86)
	if (bpf_probe_read_user(&pc, sizeof(pc), (void *)regs_sp(ctx)))
		return;
#else
	pc = regs_lr(ctx);
#endif
	event->frames[1] = pc;
	for (; n < ABI_MAX_FRAMES; n++) {
		if (n >= max)
			break;
		/* The outermost frame's pointer is zero by the ABI; anything unreadable or not above the last
		 * frame is no frame pointer at all. */
		if (!fp) {
			event->end = STACK_END_COMPLETE;
			goto out;
		}
		if ((fp & 7) || bpf_probe_read_user(&record, sizeof(record), (void *)fp))
			goto out;
		if (!record.pc) {
			event->end = STACK_END_COMPLETE;
			goto out;
		}
		event->frames[n] = record.pc;
		if (record.fp && record.fp <= fp) {
			event->end = STACK_END_BAD_CFA;
			n++;
			goto out;
		}
		fp = record.fp;
	}
	event->end = STACK_END_TRUNCATED;
out:
	event->frame_count = n;
}

#endif
