/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the stacks of a target had when it had most (--peak): kept whenever the kernel side tells of
 * more (bpf/peak.h), and with each snapshot. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_PEAKS_H
#define MEMLEAKBPF_TRACE_PEAKS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/config.h"
#include "user/trace/state.h"

struct target;

struct peak_capture {
	uint64_t bytes;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct peak_slot {
		uint32_t slot;
		uint64_t bytes, count;
		double error; /* standard error of bytes */
	} * slots;	      /* that had live blocks, in their order */
	size_t count, room;
};

/* NULL is fine. */
void peak_capture_free(struct peak_capture *capture);

/* Looks at the target's stacks, and keeps what they have if that is more than ever. */
void peaks_look(struct trace *trace, struct target *target);

/* Nothing is left of the target of that id, whose row another one may have. */
void peaks_release_target(struct trace *trace, uint32_t target_id);

/*
 * Fills in the snapshot's peak and those of its stacks, whose figures are there. `by_slot` and `slots`
 * as for figures_read(); `clock`: the kernel's, now.
 */
void peaks_read(const struct trace *trace, const struct target *target, struct snapshot *snapshot,
		const uint32_t *by_slot, uint32_t slots, const struct live_clock *clock);

#endif
