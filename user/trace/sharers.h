/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes that run in a target's memory without being threads of it: children by clone(CLONE_VM)
 * that live on, or their parent. What they allocate and free is the target's: blocks belong to a
 * memory. The kernel side counts them to the target's id, as it does with vfork children until they
 * exec. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_SHARERS_H
#define MEMLEAKBPF_TRACE_SHARERS_H

#include "user/trace/target.h"

/* 0 or -errno, logged. */
int sharers_start(struct trace *trace);

/*
 * Of a target that is being attached to: gives those that there are the target's probes. 0 or
 * -errno.
 */
int sharers_find(struct trace *trace, struct target *target);
/* And has them counted. */
void sharers_register(struct trace *trace, const struct target *target);

/* A new one has been seen, which may call exec at once: it is looked at again soon. */
void sharers_expect(struct trace *trace);
/* Those that have not called exec by now get the target's probes. Cheap when there are none. */
void sharers_settle(struct trace *trace);

/*
 * A process that ran in a target's memory has ended. Counts it as missed if it had no probes of its
 * own. A process that ends soon has none.
 */
void sharers_count_unseen(struct trace *trace, pid_t pid);

/* The target has got that set's probes: its sharers get them too. */
void sharers_attach_set(struct trace *trace, struct target *target, const struct probe_set *set);
/* The target ends: what goes on in its memory is no longer counted, which is said. */
void sharers_abandon(struct trace *trace, struct target *target);

#endif
