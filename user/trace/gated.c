// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/gated.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/gate/gate.h"
#include "user/probe/probe.h"
#include "user/process/proc.h"
#include "user/trace/gated_functions.h"
#include "user/trace/target_mappings.h"
#include "user/trace/turn.h"

struct gated {
	struct gate *gate;
	struct attachment *attachment;
};

/* ---- probes ------------------------------------------------------------------------------- */

static int gated_attach(const struct trace *trace, const struct gated_functions *functions,
			struct gated *gated, char reason[static REASON_MAX])
{
	const struct attach_programs *programs = &trace->programs;
	const struct bpf_program *const by_event[] = {
		[GATE_ALLOCATED] = programs->gate_alloc,
		[GATE_FREED] = programs->gate_free,
		[GATE_RESIZED] = programs->gate_free,
		[GATE_KEPT] = programs->gate_kept,
	};
	const struct gate_site *sites;
	_cleanup_free_ struct told_probe *probes = NULL;
	size_t count;
	int err;

	sites = gate_sites(gated->gate, &count);
	probes = calloc(count + 1, sizeof(*probes));
	if (!probes)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = functions->pcs[sites[i].function];
		uint8_t op = sites[i].event == GATE_RESIZED ? OP_REALLOC : OP_NONE;

		probes[i] = (struct told_probe){.program = by_event[sites[i].event],
						.offset = sites[i].offset,
						.cookie = told_cookie(op, pc).value};
	}
	err = attach_told(trace->options.attach, programs, probes, count, gate_path(gated->gate),
			  &gated->attachment);
	return err ? refuse(reason, err, "no probes can be put into its memory: %s", strerror(-err))
		   : 0;
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* 0, or -errno with the reason why there are none. */
static int gated_try(struct trace *trace, char reason[static REASON_MAX])
{
	int err;

	if (trace->options.old)
		return refuse(reason, -EOPNOTSUPP,
			      "kernels before 5.15 hand no cookie to a probe's program, which the "
			      "gate needs");
	err = gate_nop_choose(&trace->gate_nop);
	return err ? refuse(reason, err, "no probes in memory of a process (%s: %s)",
			    trace->gate_nop.step, strerror(-err))
		   : 0;
}

int gated_prepare(struct trace *trace)
{
	char reason[REASON_MAX];
	int err = trace->options.gate ? gated_try(trace, reason) : 0;

	if (!err)
		return 0;
	if (trace->options.gate_only) {
		log_error("--attach gate: %s", reason);
		return err;
	}
	log_info("probes, and not the gate: %s", reason);
	trace->options.gate = false;
	return 0;
}

int trace_gate_suits(const struct trace *trace, const struct target *target,
		     char reason[static REASON_MAX])
{
	if (target->tells)
		return refuse(reason, -EOPNOTSUPP, "it tells of its memory itself (--attach usdt)");
	if (!trace->lifts_filters && proc_has_filter(target->pid))
		return refuse(
			reason, -EPERM,
			"a seccomp filter watches its system calls, and what lifting it takes "
			"has been given up: start with --gate");
	return 0;
}

int trace_set_gate(struct trace *trace, bool wanted, char reason[static REASON_MAX])
{
	int err = wanted ? gated_try(trace, reason) : 0;

	if (!err && wanted && !trace->programs.gate)
		err = refuse(reason, -EOPNOTSUPP,
			     "it does not go with the options that were given");
	if (!err)
		trace->options.gate = wanted;
	return err;
}

static int gated_open(struct trace *trace, struct target *target,
		      const struct gated_functions *functions, struct gated *gated,
		      char reason[static REASON_MAX])
{
	const struct gate_request request = {
		.pid = target->pid,
		.functions = functions->items,
		.count = functions->count,
		.text = functions->text.bytes,
		.text_address = functions->text.address,
		.text_size = functions->text.size,
		.mean = trace->options.sample_bytes,
		.level = trace->level,
		/* It waits for us, or has just mapped the allocator. */
		.hold = target->runs || target->late ? NULL : &target->gate_hold,
		.nop = &trace->gate_nop,
	};
	int err = gate_open(&request, &gated->gate, reason);

	err = err ?: gated_attach(trace, functions, gated, reason);
	/*
	 * It goes on from there, and further libraries may have been mapped: records of them are
	 * still to be handled.
	 */
	if (!err && request.hold && !image_fill(target->image))
		target_publish(trace, target);
	return err ?: gate_start(gated->gate, reason);
}

static void gated_take_down(struct trace *trace, const struct target *target, struct gated *gated,
			    bool gone)
{
	char reason[REASON_MAX] = "";
	int err;

	err = gate_close(gated->gate, gone, reason);
	if (err && err != -ESRCH)
		log_warn("process %d (%s): the gate's jumps stay in it, and do nothing but cost a "
			 "few ns a call: %s",
			 target->pid, target->comm, reason);
	trace_detach(trace, gated->attachment);
	free(gated);
}

static int gated_try_new(struct trace *trace, struct target *target, const struct probe_set *set,
			 struct gated **out, char reason[static REASON_MAX])
{
	struct gated *gated = calloc(1, sizeof(*gated));
	struct gated_functions functions = {0};
	int err = gated ? 0 : refuse(reason, -ENOMEM, "no memory");

	err = err ?: gated_functions_find(target, set, &functions, reason);
	err = err ?: gated_open(trace, target, &functions, gated, reason);
	gated_functions_free(&functions);
	if (err) {
		gated_take_down(trace, target, gated, false);
		return err;
	}
	log_debug("process %d (%s): a gate before %s; %s stood still for %.2f ms", target->pid,
		  target->comm, object_name(set->provider->object),
		  gate_held_ns(gated->gate) ? "it waited, and" : "a thread",
		  (double)gate_pause_ns(gated->gate) / 1e6);
	*out = gated;
	return 0;
}

int gated_new(struct trace *trace, struct target *target, const struct probe_set *set,
	      struct gated **out, char reason[static REASON_MAX])
{
	uint64_t until = turn_patience();
	int err;

	do {
		TURN turn = turn_begin(trace, target);

		err = gated_try_new(trace, target, set, out, reason);
	} while (turn_again(target, err, until));
	return err;
}

void gated_set_level(const struct gated *gated, unsigned level)
{
	/* One that has ended meanwhile, for one; where it fails samples go on as they are. */
	if (gate_set_level(gated->gate, level))
		log_debug("a gate keeps its rate: %s", strerror(errno));
}

uint64_t gated_dropped(const struct gated *gated)
{
	return gate_dropped(gated->gate);
}

uint64_t gated_held_ns(const struct gated *gated)
{
	return gate_held_ns(gated->gate);
}

void gated_free(struct trace *trace, const struct target *target, struct gated *gated, bool gone)
{
	TURN turn = gated && !gone ? turn_begin(trace, target) : -1;

	if (gated)
		gated_take_down(trace, target, gated, gone);
}
