/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --scope: which functions of an object are scopes, and what the kernel side has counted of their
 * calls (bpf/scope_abi.h). Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_SCOPES_H
#define MEMLEAKBPF_TRACE_SCOPES_H

#include "bpf/scope_abi.h"
#include "user/model/snapshot.h"
#include "user/target/provider.h"
#include "user/trace/state.h"
#include "user/trace/target.h"

struct scopes;

/* Before loading: the programs that follow scopes instead of the usual ones, if they are wanted. */
void scopes_choose_programs(struct memleakbpf *skel, const struct trace_options *options,
			    struct attach_programs *programs);
/* Likewise: what the programs are told, and the sizes of their maps. 0 or -errno. */
int scopes_configure(struct trace *trace);
/* After loading. 0 or -errno, logged. Nothing without options.scopes. */
int scopes_start(struct trace *trace);
void scopes_free(struct trace *trace);

/*
 * The functions of an object that are scopes: 0 and *out, or -ENOENT; -ENOMEM. `trace` gets numbers
 * for them.
 */
int scopes_find(const struct trace *trace, struct object *object, struct provider **out);
/* Sets the cookies of such functions' probes. */
void scopes_assign(struct probe_set *set);

/* Does every --scope name a function of what the target maps? 0; -ENOENT, logged. */
int scopes_check(const struct trace *trace, const struct target *target);

/* Fills in the snapshot's list of scopes, but not what is in its stacks. 0 or -ENOMEM. */
int scopes_read(struct trace *trace, const struct target *target, struct snapshot *snapshot);
/* Then for each stack, before any are merged: counts it, and says in it which scope it is in. */
void scopes_add_stack(struct trace *trace, struct snapshot *snapshot, struct stack *stack,
		      uint32_t node);

/*
 * What the kernel side's id of a stack is in the snapshot that is being read: of the same frames in
 * the same scopes the same in every process, and in every run.
 */
uint64_t scopes_mixed_id(const struct trace *trace, uint64_t id, uint32_t node);

/* Gives back the nodes of targets that have been swept. */
void scopes_release_swept(struct trace *trace);

#endif
