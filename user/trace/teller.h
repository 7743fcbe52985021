/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Targets that tell their allocations themselves: an object that they map has USDT probes for that
 * (user/target/usdt_notes.h). What such a target tells is what counts of it, and no function of any
 * allocator in it has a probe: one that is told of in one place and trapped in another would be
 * counted twice, and its end once. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_TELLER_H
#define MEMLEAKBPF_TRACE_TELLER_H

#include "user/trace/known_objects.h"
#include "user/trace/target.h"

/*
 * The target maps the object, or is about to: if that tells, the target does from now on, and the
 * probes that it has on functions come off. A target that has been counted by such already, as the
 * object came late, keeps them: nobody would tell the end of the blocks that are known. That is
 * said.
 */
void teller_look_at(struct trace *trace, struct target *target, struct object *object);

/* What its allocations are known by: the role whose probes it has. */
enum known_role teller_role(const struct target *target);

#endif
