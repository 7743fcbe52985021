/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A running trace as a source of snapshots. */
#ifndef MEMLEAKBPF_SESSION_SOURCE_TRACE_H
#define MEMLEAKBPF_SESSION_SOURCE_TRACE_H

#include "user/inspect/kept_types.h"
#include "user/model/inspection.h"
#include "user/session/session_config.h"
#include "user/session/source.h"
#include "user/trace/trace.h"

struct source_trace {
	struct source source;
	struct trace *trace; /* borrowed; set before the first snapshot is taken */
	struct kept_types
		*types; /* of --inspect, from one report to the next; NULL: out of memory */
	const struct watch_config *config;
};

/* source_trace_release() in any case. */
void source_trace_init(struct source_trace *source, const struct watch_config *config);
void source_trace_release(struct source_trace *source);

/* Call it before the snapshots of a round of all targets. */
void source_trace_begin_round(const struct source_trace *source);

/* The reason for a snapshot. */
struct source_occasion {
	bool verdict; /* wanted now, whether --verdict was given or not */
	bool inspect; /* and an inspection of the same copy, likewise */
	bool final;   /* the last one of a target that lives on */
	bool leaving; /* the target is held at its end */
};

/*
 * Takes a snapshot of the target. 0, *out (snapshot_free), and *inspection (inspection_free()) if
 * it is wanted, else NULL; or -errno, logged.
 */
int source_trace_take(const struct source_trace *source, struct target *target,
		      const struct source_occasion *why, struct snapshot **out,
		      struct inspection **inspection);

#endif
