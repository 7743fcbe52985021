/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a target's life brings, and who is told of it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_LIFE_H
#define MEMLEAKBPF_TRACE_TARGET_LIFE_H

#include "user/trace/target.h"

/* It has probes: calls callbacks.attached, once. */
void target_announce(struct trace *trace, struct target *target);
/* It is ending: calls callbacks.untraced if there was nothing in it to be traced. */
void target_tell_untraced(struct trace *trace, struct target *target);
/*
 * The target's process has ended with that wait status, while it had guards. Says so when a seccomp
 * filter has ended it: the guards may be the cause.
 */
void target_tell_filtered(const struct target *target, int wait_status);

/*
 * Calls callbacks.ended if it was traced (not with TARGET_REMOVED), and queues it for clearing:
 * reclaim.h. `end` is TARGET_REPLACED, TARGET_EXITED or TARGET_REMOVED.
 */
void target_end(struct trace *trace, struct target *target, enum target_stage end);

/*
 * Of a target that has ended: it was a child that had an allocator, and no probes yet. Counts it as
 * lost, to the nearest of its forebears that is traced.
 */
void target_count_unseen(struct trace *trace, const struct target *target);

/* Its pidfd is another target's no longer, or new. 0 or -errno. */
int target_watch_end(struct trace *trace, const struct target *target);
/*
 * Targets that have ended, though no event has said so: the exit event can be lost with a full ring
 * buffer, a pidfd cannot. Only those that we opened have one. Marks some; true: there are.
 */
bool targets_mark_gone(struct trace *trace);
/* Ends those that are marked. */
void targets_end_gone(struct trace *trace);

/*
 * The kernel has given the id to a process that is not traced under it. Clears what may have been
 * counted, and frees the row.
 */
void target_abandon_id(struct trace *trace, uint32_t id);

/*
 * Has the target just become valgrind, into which no probe may come (PROC_ELF_VALGRIND)? Then it is
 * a target no longer, the probes that it brought along are removed, and this is said.
 */
bool target_leave_valgrind(struct trace *trace, struct target *target);

#endif
