// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of blocks that targets report themselves; alloc.bpf.c has their beginning. */
#include "bpf/usdt.h"
#include "bpf/own_stack.h"

SEC("uprobe")
int usdt_free(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};

	use_own_stack();
	return usdt_freed(ctx, cookie.usdt_row);
}
