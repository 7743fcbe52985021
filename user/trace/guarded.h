/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guard sampling of targets (docs/guard.md): gives each its guards (user/guard), and listens to them. Private to
 * user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_GUARDED_H
#define MEMLEAKBPF_TRACE_GUARDED_H

#include "bpf/guard_abi.h"
#include "user/trace/target.h"

struct guarded;

/* Before the programs are loaded: can there be guards? 0, also where none are asked for; or -errno, logged. */
int guarded_prepare(struct trace *trace);

/*
 * Before a target gets its first gate, which goes on to them: gives it guards, if it can have them. One that has just
 * begun stands still from then on (gate_hold). Of one that has run before, nothing is guarded until guarded_look().
 */
void guarded_before_gate(struct trace *trace, struct target *target);

/*
 * Whenever a target may have mapped libraries, and it is in the kernel's table: gives it guards, if it can have
 * them now; or, where one has come that would take guarded blocks for its own, turns them off.
 */
void guarded_look(struct trace *trace, struct target *target);
/* The same of all targets. */
void guarded_look_all(struct trace *trace);

/* It is never to have any, for a reason that is static: a clause about the process. */
void guarded_refuse(struct target *target, const char *reason);

/* Do its guards stand before the functions of that object? Then these see blocks of theirs first. */
bool guarded_has(const struct target *target, const struct object *object);

/* A place of its has been touched: is marked, so that it is armed again for its next block. */
void guarded_note_touch(const struct target *target, const struct guard_touch_event *event);

/* What is known of the last block of a place; nothing, where the target has no such place. */
struct guard_block guarded_block(const struct trace *trace, const struct target *target,
				 uint32_t place);

/* Has the place had no other block since the one of this life? */
bool guarded_still(const struct target *target, uint32_t place, uint64_t life);

/* What is known of it. The reason lives as long as the trace. */
void guarded_read(struct trace *trace, struct target *target, struct guard_state *state);

/*
 * No more of them; `gone`: as for gated_free(). Nothing, where it has none.
 */
void guarded_end(struct trace *trace, struct target *target, bool gone);

/* Reasons that snapshots show go with the trace. */
void guarded_free_reasons(struct trace *trace);

/* Of a target that has ended: nothing of it is left in the programs' maps. */
void guarded_release_swept(const struct trace *trace);

#endif
