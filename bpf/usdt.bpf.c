// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The probes by which targets tell their samples; the cookie is the row of `usdt_specs`. */
#include "bpf/usdt.h"
#include "bpf/own_stack.h"

SEC("uprobe")
int usdt_alloc(struct pt_regs *ctx)
{
	use_own_stack();
	return usdt_allocated(ctx, (uint32_t)bpf_get_attach_cookie(ctx));
}

SEC("uprobe")
int usdt_free(struct pt_regs *ctx)
{
	use_own_stack();
	return usdt_freed(ctx, (uint32_t)bpf_get_attach_cookie(ctx));
}
