// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The probes on allocator functions. The probe's cookie, from the allocator table, tells the
 * arguments' meanings.
 */
#include "bpf/alloc.h"
#include "bpf/alloc_op.h"
#include "bpf/own_stack.h"
#include "bpf/usdt.h"

/*
 * figures.bpf.c, scoped.bpf.c and the like compile most of these programs once more. Programs that
 * know runtimes (bpf/managed.h) are loaded only where somebody asks for them.
 */
#ifdef MEMLEAKBPF_MANAGED
#define ON_ALLOC SEC("?uprobe")
#else
#define ON_ALLOC SEC("uprobe")
#endif

#if !defined(MEMLEAKBPF_FIGURES) && !defined(MEMLEAKBPF_MANAGED)
char LICENSE[] SEC("license") = "Dual BSD/GPL";
#endif

/*
 * One program does two things. Most of the tool's start is the verifier's, for the walk up the
 * stack, once for each program that has it.
 */
ON_ALLOC
int alloc_enter(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	if (cookie.op == OP_USDT_ALLOC)
		usdt_allocated(ctx, cookie.usdt_row, MANAGED_ENTER);
#ifdef MEMLEAKBPF_MANAGED
	else if (config.managed_later)
		enter_managed_part(ctx, cookie);
#endif
	else
		enter(ctx, cookie, MANAGED_ENTER);
	return 0;
}

#ifndef MEMLEAKBPF_MANAGED
SEC("uretprobe")
int alloc_leave(struct pt_regs *ctx)
{
	use_own_stack();
	leave(ctx, regs_entry_sp_at_return(ctx));
	return 0;
}

/*
 * On the `ret` instructions of functions that have no return probe: the stack pointer is the same
 * as at the entry.
 */
SEC("uprobe")
int alloc_return(struct pt_regs *ctx)
{
	use_own_stack();
	leave(ctx, regs_sp(ctx));
	return 0;
}
#endif

#if !defined(MEMLEAKBPF_FIGURES) && !defined(MEMLEAKBPF_MANAGED)
SEC("uprobe")
int on_unwind(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	if (cookie.op == OP_CODE_END) {
		__sync_fetch_and_add(&shared.code_ends, 1);
		return 0;
	}
	use_own_stack();
	return stack_unwinds(ctx, cookie);
}
#endif

/*
 * Entry and return in one program (kernel >= 6.13). It tells them apart by the program counter,
 * which at the entry is the probe's own place. That needs no kfunc, whose signature has changed
 * between kernels.
 *
 * Not for functions that must have no return probe, though a result of 1 would say so. Another tool
 * may have put a breakpoint at the same place into a second process. There the kernel does not run
 * the link's program, and takes that for a 0 (uprobe_prog_run() in kernel/trace/bpf_trace.c).
 */
ON_ALLOC
int alloc_session(struct pt_regs *ctx)
{
	union probe_cookie cookie;

	use_own_stack();
#ifdef MEMLEAKBPF_MANAGED
	/* Returns stay in this program. */
	if (config.managed_later) {
		cookie.value = bpf_get_attach_cookie(ctx);
		return enter_managed_part(ctx, cookie);
	}
#endif
	if (regs_ip(ctx) != bpf_get_func_ip(ctx)) {
		leave(ctx, regs_entry_sp_at_return(ctx));
		return 0;
	}
	cookie.value = bpf_get_attach_cookie(ctx);
	return enter(ctx, cookie, MANAGED_SESSION);
}

ON_ALLOC
int free_enter(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	return release(ctx, cookie);
}

#if !defined(MEMLEAKBPF_FIGURES) && !defined(MEMLEAKBPF_MANAGED)
/* On the C++ operators of libraries that have no allocator of their own. */
SEC("uprobe")
int on_named(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};
	struct thread_state *thread = NULL;
	struct target_info target;

	use_own_stack();
	if (!current_watched(&target, &thread))
		return 0;
	if (!thread)
		thread = current_thread_new(&target);
	if (thread && cookie.ptr_arg)
		named_enter(ctx, thread, NAMED_FREE, cookie, regs_argument(ctx, cookie.ptr_arg));
	else if (thread)
		named_enter(ctx, thread, NAMED_ALLOC, cookie, 0);
	return 0;
}
#endif

#ifndef MEMLEAKBPF_MANAGED
#include "bpf/unmap.h"

SEC("uprobe")
int unmap_enter(struct pt_regs *ctx)
{
	use_own_stack();
	return unmaps(ctx);
}
#endif
