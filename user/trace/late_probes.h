/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocators whose probes came late. User space learns from a record of the kernel that a target
 * has mapped an allocator, and takes some milliseconds to put probes in. Nothing is missed where
 * the target's dynamic loader waits meanwhile (bpf/loaded.bpf.c). Elsewhere it is counted as
 * LOST_LATE_PROBES, and said. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_LATE_PROBES_H
#define MEMLEAKBPF_TRACE_LATE_PROBES_H

#include <stdint.h>

struct trace;
struct target;

/* To be called with what has its probes by now: the object at `address`, mapped at mapped_ns. */
void late_probes_check(struct trace *trace, const struct target *target, uint64_t address,
		       uint64_t mapped_ns);

/* All that the target maps. */
void late_probes_check_all(struct trace *trace, const struct target *target, uint64_t mapped_ns);

/*
 * The records were lost: whatever got its probes after since_ns may have been mapped any time
 * before.
 */
void late_probes_check_unrecorded(struct trace *trace, const struct target *target,
				  uint64_t since_ns);

#endif
