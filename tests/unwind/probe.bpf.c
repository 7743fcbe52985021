// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The smallest program around the unwinder: sends every stack that reaches the probe. For
 * tests/unwind/harness.c.
 */
#include "bpf/regs.h"
#include "bpf/own_stack.h"
#include "bpf/unwind.h"
#include "tests/unwind/harness.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define UNWIND_TARGET 1

/* No JVM is walked here. */
__noinline int hotspot_look(const struct unwind_state *state)
{
	return state ? UNWIND_FRAME_OTHER : 0;
}

__noinline int v8_look(const struct unwind_state *state)
{
	return state ? UNWIND_FRAME_OTHER : 0;
}

/* Of the kernel's ABI; the tool itself needs none of it. */
#define BPF_MAP_TYPE_STACK_TRACE 7
#define BPF_F_USER_STACK	 256
#define BPF_F_FAST_STACK_CMP	 512

const volatile uint32_t flags = 0;
const volatile uint32_t max_frames = ABI_MAX_FRAMES;
const volatile uint32_t tgid = 0;
const volatile uint8_t quiet = 0;
const volatile uint8_t kernel_walks = 0; /* bpf_get_stackid() instead of our walk */
const volatile uint8_t forgetful = 0;	 /* what threads remember is dropped before each walk */
uint64_t walks = 0, frames = 0, nanoseconds = 0;
uint64_t ends[STACK_ENDS] = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} output SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, 127 * sizeof(uint64_t));
} kernel_stacks SEC(".maps");

const struct scratch zero = {};

static __always_inline void count_walk(uint64_t start, uint32_t count)
{
	__sync_fetch_and_add(&nanoseconds, bpf_ktime_get_ns() - start);
	__sync_fetch_and_add(&walks, 1);
	__sync_fetch_and_add(&frames, count);
}

SEC("uprobe")
int on_allocation(struct pt_regs *ctx)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &tid);
	uint64_t start;

	use_own_stack();
	if (!scratch) {
		bpf_map_update_elem(&scratches, &tid, &zero, BPF_NOEXIST);
		scratch = bpf_map_lookup_elem(&scratches, &tid);
		if (!scratch)
			return 0;
	}
	start = bpf_ktime_get_ns();
	if (kernel_walks) {
		bpf_get_stackid(ctx, &kernel_stacks, BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP);
		count_walk(start, 0);
		return 0;
	}
	if (forgetful)
		scratch->state.generation--;
	scratch->state.regs.pc = regs_ip(ctx);
	scratch->state.regs.sp = regs_sp(ctx);
	scratch->state.regs.fp = regs_fp(ctx);
#if defined(__TARGET_ARCH_arm64)
	scratch->state.regs.lr = regs_lr(ctx);
#endif
	scratch->state.target_id = UNWIND_TARGET;
	scratch->state.flags = flags;
	scratch->state.max_frames = max_frames;
	unwind_stack(&scratch->state, &scratch->event.stack);
	count_walk(start, scratch->event.stack.frame_count);
	if (scratch->event.stack.end < STACK_ENDS)
		__sync_fetch_and_add(&ends[scratch->event.stack.end], 1);
	scratch->event.sequence = regs_argument(ctx, 2);
	scratch->event.hash = scratch->state.hash;
	if (!quiet || (quiet == 1 && scratch->event.stack.end != STACK_END_COMPLETE))
		bpf_ringbuf_output(&output, &scratch->event, sizeof(scratch->event), 0);
	return 0;
}

/* Arguments: address, struct vm_unmapped_area_info. */
SEC("tp_btf/vm_unmapped_area")
int on_mapping(uint64_t *ctx)
{
	struct vm_unmapped_area_info *info = (void *)ctx[1];

	if (bpf_get_current_pid_tgid() >> 32 == tgid)
		unwind_remapped(UNWIND_TARGET, ctx[0], info->length);
	return 0;
}
