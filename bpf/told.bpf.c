// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The probes of the gate's stubs (user/gate/stub): block in the first argument, size in the second, level in the fifth. */
#include "bpf/alloc_op.h"
#include "bpf/told.h"
#include "bpf/own_stack.h"

#ifdef MEMLEAKBPF_MANAGED
SEC("?uprobe")
#else
SEC("uprobe")
#endif
int gate_alloc(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	return told_alloc(ctx, told_cookie_pc(cookie), regs_argument(ctx, 1), regs_argument(ctx, 2),
			  0, config.sample_levels ? regs_argument(ctx, 5) : 0, MANAGED_GATE);
}

#ifndef MEMLEAKBPF_MANAGED
SEC("uprobe")
int gate_free(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	return told_free(regs_argument(ctx, 1), told_cookie_op(cookie) == OP_REALLOC);
}

SEC("uprobe")
int gate_kept(struct pt_regs *ctx)
{
	use_own_stack();
	return told_kept(regs_argument(ctx, 1));
}
#endif
