// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --scope: the programs on allocations and frees once more, which follow scopes too, and figures
 * where these are asked for (bpf/figures.h); and those that see the scopes' calls. What nobody has
 * asked for is not in the usual programs, to the last instruction.
 */
#define MEMLEAKBPF_FIGURES
#define MEMLEAKBPF_SCOPES

#define alloc_enter   scoped_alloc_enter
#define alloc_leave   scoped_alloc_leave
#define alloc_return  scoped_alloc_return
#define alloc_session scoped_alloc_session
#define free_enter    scoped_free_enter
#define unmap_enter   scoped_unmap_enter
#define gate_alloc    scoped_gate_alloc
#define gate_free     scoped_gate_free
#define gate_kept     scoped_gate_kept
#define usdt_free     scoped_usdt_free

#include "bpf/alloc.bpf.c"
#include "bpf/told.bpf.c"
#include "bpf/usdt.bpf.c"

#include "bpf/live_age.h"
#include "bpf/scope_calls.h"

SEC("syscall")
int scoped_live_ages(void *ctx)
{
	(void)ctx;
	live_walk_ages();
	return 0;
}

/* ---- calls of scopes ---------------------------------------------------------------------- */

SEC("uprobe")
int scope_entered(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	return scope_enter(ctx, cookie);
}

/* On the functions' `ret` instructions, */
SEC("uprobe")
int scope_returned(struct pt_regs *ctx)
{
	use_own_stack();
	return scope_leave(ctx);
}

/* and on their jumps to other functions. */
SEC("uprobe")
int scope_jumped(struct pt_regs *ctx)
{
	use_own_stack();
	return scope_tail(ctx);
}

/* Both are attached in front of those that tell user space that a target has ended. */
SEC("tp_btf/sched_process_exit")
int scope_thread_exits(uint64_t *ctx)
{
	return scope_thread_ends((struct task_struct *)ctx[0]);
}

SEC("tp_btf/sched_process_exec")
int scope_thread_execs(uint64_t *ctx)
{
	return scope_thread_ends((struct task_struct *)ctx[0]);
}
