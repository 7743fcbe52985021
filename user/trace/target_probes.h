/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which probes a target has, and giving it more. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_PROBES_H
#define MEMLEAKBPF_TRACE_TARGET_PROBES_H

#include "user/trace/known_objects.h"
#include "user/trace/target.h"

/*
 * Finds providers among the image's objects and attaches where that has not been done. Returns how
 * many objects have probes, or -errno.
 */
int target_attach_image(struct trace *trace, struct target *target);
/* The probes of one allocator: 1; 0 when the object is none; or -errno. */
int target_attach_object(struct trace *trace, struct target *target, struct object *object);
/* What is watched beside the allocators, in all objects known so far. 0 or -errno. */
int target_attach_beside(struct trace *trace, struct target *target);
/* Does it map an allocator whose probes are in place? */
bool target_has_probes(const struct trace *trace, const struct target *target);
/* Since when the object's probes of that role have been in place, for this target; 0: they are not. */
uint64_t target_probes_ready_ns(const struct trace *trace, const struct target *target,
				const struct object *object, enum known_role role);

#endif
