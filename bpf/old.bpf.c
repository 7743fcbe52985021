// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kernels before 5.15 get these programs instead of their namesakes. Such kernels lack:
 *
 * - bpf_get_attach_cookie (5.15). User space loads each program once for every cookie that it
 *   needs, with the cookie in the place of FIXED_COOKIE (user/probe/old.c). So a program here calls
 *   no other function: it consists of its own instructions only.
 * - atomic operations with a result (5.12). bpf/number.h has queues.
 * - callbacks (5.13), bpf_find_vma (5.17) and functions that take pointers (5.12). Unwinding goes
 *   by frame pointers, not by tables; user space walks over the live blocks itself.
 *
 * The section names begin with '?': loaded only where user space asks for it.
 */
#define MEMLEAKBPF_OLD_KERNEL

#include "bpf/alloc.h"
#include "bpf/process.h"
#include "bpf/unmap.h"
#include "bpf/usdt.h"

static __always_inline union probe_cookie fixed_cookie(void)
{
	union probe_cookie cookie;

	asm volatile("%0 = " ABI_FIXED_COOKIE_TEXT " ll" : "=r"(cookie.value));
	return cookie;
}

SEC("?uprobe")
int old_alloc_enter(struct pt_regs *ctx)
{
	enter(ctx, fixed_cookie(), NULL);
	return 0;
}

SEC("?uprobe")
int old_free_enter(struct pt_regs *ctx)
{
	return release(ctx, fixed_cookie());
}

SEC("?uprobe")
int old_unmap_enter(struct pt_regs *ctx)
{
	return unmaps(ctx);
}

SEC("?uprobe")
int old_on_unwind(struct pt_regs *ctx)
{
	return stack_unwinds(ctx, fixed_cookie());
}

SEC("?uprobe")
int old_usdt_alloc(struct pt_regs *ctx)
{
	return usdt_allocated(ctx, fixed_cookie().usdt_row, NULL);
}

SEC("?uprobe")
int old_usdt_free(struct pt_regs *ctx)
{
	return usdt_freed(ctx, fixed_cookie().usdt_row);
}

SEC("?tp_btf/sched_process_fork")
int old_on_fork(uint64_t *ctx)
{
	return process_forked(ctx, false);
}

SEC("?tp_btf/sched_process_exec")
int old_on_exec(uint64_t *ctx)
{
	return process_execed(ctx, false);
}
