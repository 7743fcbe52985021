/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What has been read of thread-local variables, for trace_name_tls(). Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_THREAD_VARIABLES_H
#define MEMLEAKBPF_TRACE_THREAD_VARIABLES_H

struct trace;

void thread_variables_free(struct trace *trace);

#endif
