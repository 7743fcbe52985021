// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/cost.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/old.h"
#include "user/trace/later.h"
#include "user/trace/recursion_misses.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/target.h"

/*
 * A trap and the way back, without the program. An emulated instruction takes 530 ns on the machine
 * of docs/performance.md. The number is higher than that, since nobody counts what the target loses
 * in its caches.
 */
#define TRAP_NS 700

/* The same at the gate's own instruction: 210 ns where it was made a call, 440 where it is emulated. */
#define GATE_HIT_NS 450

int trace_cost_start(struct trace *trace)
{
	if (trace->fds.stats >= 0)
		return 0;
	trace->fds.stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (trace->fds.stats < 0)
		return log_errno(errno, "cannot have the kernel count the probes' run time");
	return 0;
}

bool trace_cost_counts(const struct trace *trace)
{
	return trace->fds.stats >= 0;
}

static int cost_add_program(int fd, uint64_t hit_ns, struct trace_cost *sum)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return log_errno(errno, "cannot read the run time of the probes");
	if (hit_ns)
		sum->hits += info.run_cnt;
	sum->run_ns += info.run_time_ns;
	sum->ns += info.run_time_ns + info.run_cnt * hit_ns;
	return 0;
}

/* The iterators are left out: they run on our own time. */
int trace_cost_read(const struct trace *trace, struct trace_cost *out)
{
	const struct attach_programs *p = &trace->programs;
	const struct {
		const struct bpf_program *program;
		uint64_t hit_ns; /* 0: nothing leads to it that costs */
	} rows[] = {
		{p->alloc_enter, TRAP_NS},	 {p->alloc_leave, TRAP_NS},
		{p->alloc_session, TRAP_NS},	 {p->alloc_return, TRAP_NS},
		{p->free_enter, TRAP_NS},	 {p->unmap_enter, TRAP_NS},
		{p->on_named, TRAP_NS},		 {p->on_unwind, TRAP_NS},
		{p->scope_entered, TRAP_NS},	 {p->scope_returned, TRAP_NS},
		{p->scope_jumped, TRAP_NS},	 {p->usdt_free, TRAP_NS},
		{p->gate_alloc, GATE_HIT_NS},	 {p->gate_free, GATE_HIT_NS},
		{p->gate_kept, GATE_HIT_NS},	 {p->guard_probed, GATE_HIT_NS},
		{trace->skel->progs.on_fork, 0}, {trace->skel->progs.on_exec, 0},
		{trace->skel->progs.on_exit, 0}, {trace->skel->progs.guard_fault, 0},
	};
	int err = 0, fd;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		fd = later_fd(trace, rows[i].program);
		/* Not loaded: another way to attach is used, or nobody has asked for that. */
		if (fd >= 0)
			err = cost_add_program(fd, rows[i].hit_ns, out);
	}
	/* Before 5.15 copies of some of these run in their place. */
	for (size_t i = 0; p->old && !err && (fd = old_programs_fd(p->old, i)) >= 0; i++)
		err = cost_add_program(fd, TRAP_NS, out);
	return err;
}

void trace_lost(const struct trace *trace, const struct target *target, uint64_t lost[LOSSES_ROOM])
{
	const uint64_t *from = target ? slots_stats(trace->slots, target->id)->lost
				      : trace->skel->bss->shared.lost;

	recursion_misses_update(trace);
	for (int i = 0; i < LOST_CAUSES; i++)
		lost[i] = from[i];
	if (target)
		target_add_lost(target, lost);
}
