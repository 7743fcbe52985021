/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the probes of a trace cost the machine, by the kernel's own count of their runs and run
 * time.
 */
#ifndef MEMLEAKBPF_TRACE_COST_H
#define MEMLEAKBPF_TRACE_COST_H

#include <stdint.h>

#include "user/model/loss_room.h"
#include "user/trace/trace.h"

struct trace_cost {
	uint64_t hits;	 /* of probes, entries and returns */
	uint64_t run_ns; /* of the BPF programs */
	uint64_t ns; /* CPU time in all, with an estimate for the traps that lead to the programs */
};

/*
 * Has the kernel count from now on: 20 ns per run of every BPF program on the machine, until
 * trace_free(). 0 or -errno, logged.
 */
int trace_cost_start(struct trace *trace);

/* Does it count, since trace_cost_start()? */
bool trace_cost_counts(const struct trace *trace);

/* What has been counted so far. 0 or -errno, logged. */
int trace_cost_read(const struct trace *trace, struct trace_cost *out);

/*
 * What has been lost on account of one target so far, by enum lost_cause; with target NULL, what
 * could not be told apart by target. Both together are what a snapshot says.
 */
void trace_lost(const struct trace *trace, const struct target *target, uint64_t lost[LOSSES_ROOM]);

#endif
