/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by watching and running: the trace, the output, and printing a snapshot of a target. */
#ifndef MEMLEAKBPF_SESSION_SESSION_H
#define MEMLEAKBPF_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "user/session/pipeline.h"
#include "user/session/session_config.h"
#include "user/trace/trace.h"

struct closure;
struct session;

/* Loads the trace and opens the output. command: what is about to be started, or NULL. 0 and *out (session_free), or -errno, logged. */
int session_new(const struct watch_config *config, const struct closure *command,
		struct session **out);

/* Closes output and trace. 0 or -errno of a failed write. */
int session_free(struct session *session);

struct trace *session_trace(struct session *session);

/*
 * Prints a snapshot of every target that lives; `final` marks it as the last one. -errno when the
 * output failed (logged).
 */
int session_report(struct session *session, bool final);

/* The same with verdicts, whether --verdict was given or not. */
int session_report_verdicts(struct session *session);

/* The same with inspections, too; for a viewer. */
int session_report_inspections(struct session *session);

/* For a viewer: the pipeline that has the reports. */
struct pipeline *session_pipeline(struct session *session);

/* The needs of the config's processes (trace_drop_privileges()). */
struct trace_needs session_needs(const struct watch_config *config);

/*
 * Did writing fail, also for reports of ended targets, which come from inside the trace? 0 or
 * -errno.
 */
int session_output_error(const struct session *session);

/* Sets the command that was started. */
void session_set_command(struct session *session, pid_t pid);

/*
 * The exit status after all has gone well: `own` without --error-exitcode. With it the status is
 * that number when leaks were found. It is also no success, logged, where nobody can say so. Then
 * the command, or a program that it became, had no allocator that could be traced. Or a process
 * with live blocks ended without the wanted verdict.
 */
int session_status(const struct session *session, int own);

#endif
