/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An allocator of a process whose functions have a gate (user/gate) in place of probes. */
#ifndef MEMLEAKBPF_PATCH_GATED_H
#define MEMLEAKBPF_PATCH_GATED_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/reason.h"

struct gated;
struct patched;
struct patches;
struct probe_set;

/*
 * 0 and *out (gated_free()); -ESRCH; or another -errno with the reason, a clause about the process,
 * not logged: it is to have probes.
 */
int gated_new(struct patches *patches, struct patched *patched, const struct probe_set *set,
	      struct gated **out, char reason[static REASON_MAX]);

/* Distances to samples are drawn by that from now on: gate_set_level(). */
void gated_set_level(const struct gated *gated, unsigned level);

/* Samples that the gate could not tell: LOST_GATE_FULL. */
uint64_t gated_dropped(const struct gated *gated);

/*
 * Since when (CLOCK_MONOTONIC) the process stood still until its gate was there, all of it; 0: it ran
 * meanwhile.
 */
uint64_t gated_held_ns(const struct gated *gated);

/*
 * The functions get their bytes back; `gone`: there is nothing to give back to, as the process has
 * ended or become another program. NULL is fine.
 */
void gated_free(struct patches *patches, const struct patched *patched, struct gated *gated,
		bool gone);

#endif
