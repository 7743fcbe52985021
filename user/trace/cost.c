// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/cost.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/trace/recursion_misses.h"
#include "user/trace/slots.h"
#include "user/trace/target.h"

/*
 * A trap and the way back, without the program: 530 ns for an emulated instruction on the machine
 * of docs/performance.md, and rather more than less, since what the target loses in its caches
 * nobody counts.
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

static int cost_add_program(const struct bpf_program *program, bool probe, struct trace_cost *sum)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0) /* not loaded: another way to attach is used */
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return log_errno(errno, "cannot read the run time of the probes");
	if (probe)
		sum->hits += info.run_cnt;
	sum->run_ns += info.run_time_ns;
	return 0;
}

/* The iterators are left out: they run on our own time. */
int trace_cost_read(const struct trace *trace, struct trace_cost *out)
{
	const struct attach_programs *p = &trace->programs;
	const struct bpf_program *probes[] = {p->alloc_enter, p->alloc_leave, p->alloc_session,
					      p->free_enter, p->unmap_enter};
	const struct bpf_program *others[] = {
		trace->skel->progs.on_fork, trace->skel->progs.on_exec, trace->skel->progs.on_exit};
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < ARRAY_SIZE(probes) && !err; i++)
		err = cost_add_program(probes[i], true, out);
	for (size_t i = 0; i < ARRAY_SIZE(others) && !err; i++)
		err = cost_add_program(others[i], false, out);
	out->ns = out->run_ns + out->hits * TRAP_NS;
	return err;
}

void trace_lost(const struct trace *trace, const struct target *target, uint64_t lost[LOST_CAUSES])
{
	const uint64_t *from =
		target ? slots_stats(trace, target->id)->lost : trace->skel->bss->shared.lost;

	recursion_misses_update(trace);
	for (int i = 0; i < LOST_CAUSES; i++)
		lost[i] = from[i];
}
