/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A snapshot with verdicts: stops, copies, judges; and inspects the same copy. */
#ifndef MEMLEAKBPF_SESSION_JUDGE_H
#define MEMLEAKBPF_SESSION_JUDGE_H

#include "user/inspect/kept_types.h"
#include "user/model/inspection.h"
#include "user/session/session_config.h"
#include "user/trace/trace.h"

/*
 * As trace_snapshot(), with each stack's verdict and the snapshot's. Without a verdict the snapshot
 * says why. `inspection` NULL: none is wanted; else *inspection is one of the same moment
 * (inspection_free()), or NULL where there is no verdict. `types`: debug information read for
 * earlier ones; NULL: it is read anew. 0, or -errno, logged.
 */
int verdict_snapshot(struct trace *trace, struct target *target, const struct watch_config *config,
		     struct kept_types *types, struct snapshot **out,
		     struct inspection **inspection);

#endif
