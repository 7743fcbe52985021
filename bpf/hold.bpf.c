// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Replaces on_fork and on_exec where new processes are held: kernels from 6.18 on. */
#include "bpf/process.h"

SEC("?tp_btf/sched_process_fork")
int hold_on_fork(uint64_t *ctx)
{
	return process_forked(ctx, true);
}

SEC("?tp_btf/sched_process_exec")
int hold_on_exec(uint64_t *ctx)
{
	return process_execed(ctx, true);
}
