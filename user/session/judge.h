/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A snapshot with verdicts: stop, copy, judge. */
#ifndef MEMLEAKBPF_SESSION_JUDGE_H
#define MEMLEAKBPF_SESSION_JUDGE_H

#include "user/session/session_config.h"
#include "user/trace/trace.h"

/*
 * As trace_snapshot(), with each stack's verdict and the snapshot's. Where there is none the
 * snapshot says why. 0, or -errno, logged.
 */
int verdict_snapshot(struct trace *trace, struct target *target, const struct watch_config *config,
		     struct snapshot **out);

#endif
