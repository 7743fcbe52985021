// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/cost.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/trace/internal.h"

/*
 * A trap and the way back, without the program: 530 ns for an emulated instruction on the machine of docs/performance.md, and rather more than less,
 * since what the target loses in its caches nobody counts.
 */
#define TRAP_NS 700

int trace_cost_start(struct trace *trace)
{
	if (trace->stats_fd >= 0)
		return 0;
	trace->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (trace->stats_fd < 0)
		return log_errno(errno, "cannot have the kernel count the probes' run time");
	return 0;
}

int trace_cost_read(const struct trace *trace, struct trace_cost *out)
{
	struct bpf_program *program;

	memset(out, 0, sizeof(*out));
	bpf_object__for_each_program(program, trace->skel->obj)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0) /* not loaded: another way to attach is used */
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &size))
			return log_errno(errno, "cannot read the run time of the probes");
		if (info.type == BPF_PROG_TYPE_KPROBE)
			out->hits += info.run_cnt;
		out->run_ns += info.run_time_ns;
	}
	out->ns = out->run_ns + out->hits * TRAP_NS;
	return 0;
}
