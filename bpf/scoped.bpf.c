// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --scope: the programs on allocations and frees once more, which follow scopes too, and figures on
 * request (bpf/figures.h). Also the programs that see the scopes' calls. The usual programs have
 * not an instruction of this.
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

/* Both are attached before the programs that tell user space of a target's end. */
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
