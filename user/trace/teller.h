/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Targets that tell their allocations themselves: an object that they map has USDT probes for it
 * (user/target/usdt_notes.h). Only what such a target tells is counted, and no function of any
 * allocator in it has a probe. A block that is both told and trapped would be counted twice, and
 * its end once. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_TELLER_H
#define MEMLEAKBPF_TRACE_TELLER_H

#include "user/trace/known_objects.h"
#include "user/trace/target.h"

/*
 * The target maps the object, or is about to. If the object tells, the target tells from now on,
 * and the probes on its functions come off. A target whose object came late has been counted by its
 * functions. It keeps their probes, which is said: otherwise nobody would see the end of the blocks
 * that are known.
 */
void teller_look_at(struct trace *trace, struct target *target, struct object *object);

/* What its allocations are known by: the role whose probes it has. */
enum known_role teller_role(const struct target *target);

#endif
