// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A target on its way out: after its exit handlers, before the system call that takes its other
 * threads and its memory away. User space is told, and the thread waits until ptrace has asked it
 * to stop; it stops before its next instruction. If no stop comes, the process ends as if nothing
 * had been. It ends at once if the tool is stopped itself.
 */
#include "bpf/loss.h"
#include "bpf/regs.h"
#include "bpf/wait.h"

#include "bpf/own_stack.h"

#define WAIT_NS 10000000000ull

static __always_inline void announce(uint32_t target_id, uint32_t tgid, uint64_t status)
{
	struct process_event event = {
		.header = {.type = EVENT_LEAVE,
			   .target_id = target_id,
			   .time_ns = bpf_ktime_get_ns()},
		.pid = tgid,
		.end = (status & 0xff) << 8,
	};

	bpf_get_current_comm(event.comm, sizeof(event.comm));
	if (bpf_ringbuf_output(&events, &event, sizeof(event), 0))
		count_lost_anywhere(LOST_EVENTS);
}

SEC("uprobe.s")
int on_leave(struct pt_regs *ctx)
{
	uint64_t both = bpf_get_current_pid_tgid();
	uint32_t tgid = both >> 32, tid = (uint32_t)both, first;
	struct target_info *target = bpf_map_lookup_elem(&targets, &tgid);
	struct wait wait = {
		.task = kernel_current_task(),
		.until_ns = bpf_ktime_get_ns() + WAIT_NS,
		.sp = regs_sp(ctx),
	};

	use_own_stack();
	/* A vfork child has its parent's memory, which goes on. */
	if (!target || target->flags & TARGET_VFORK || !tool_answers() || tool_stands_still())
		return 0;
	/*
	 * _exit of some libraries calls _Exit: the same thread comes twice. Other threads that end
	 * the process as well must not be faster than the stop.
	 */
	first = __sync_val_compare_and_swap(&target->leaver, 0, tid);
	if (first == tid)
		return 0;
	if (!first)
		announce(target->id, tgid, regs_argument(ctx, 1));
	wait_for_tool(&wait);
	return 0;
}
