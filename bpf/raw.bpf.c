// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fork, exec and exit once more, for kernels that refuse programs on these tracepoints by their BTF
 * types (tp_btf). They accept programs that copy what they read. Loaded only where user space asks
 * for it: user/trace/refused.c.
 */
#define MEMLEAKBPF_RAW_TRACEPOINTS

#define on_fork raw_on_fork
#define on_exec raw_on_exec
#define on_exit raw_on_exit

#include "bpf/process.bpf.c"
