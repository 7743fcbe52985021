/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heaps of runtimes that nobody here traces (Java's, V8's, Go's): that a target has one, and how much memory is in it.
 */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_HEAPS_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_HEAPS_H

#include <stdint.h>

#include "user/model/untraced_heaps.h"

struct runtimes;
struct runtime_target;

/* What was found last, when and in which time. */
struct target_heaps {
	struct untraced_heaps found;
	uint64_t looked_ns, look_ns;
	uint64_t java_start, java_end; /* HotSpot's heap; 0: not known */
};

/*
 * Fills target->heaps.found, without stopping the process. Reading the sizes takes some
 * milliseconds a GiB, so it is done in at most a twentieth of the time. In between, and at the
 * target's end, the last result holds.
 */
void runtime_heaps_read(const struct runtimes *runtimes, struct runtime_target *target);

#endif
