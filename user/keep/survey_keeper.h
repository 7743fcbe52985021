/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `survey --gate --keep`: processes that its filters name have a gate for as long as they and the
 * survey run, and are sampled all the time. Later ones get theirs at the look that finds them.
 */
#ifndef MEMLEAKBPF_KEEP_SURVEY_KEEPER_H
#define MEMLEAKBPF_KEEP_SURVEY_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/analysis/suppress.h"
#include "user/model/report.h"
#include "user/look/history.h"
#include "user/keep/keep_ends.h"
#include "user/serve/kept_process.h"
#include "user/look/survey_config.h"
#include "user/look/survey_scope.h"

struct survey_keeper;

/*
 * Nothing is loaded before the first process that is named. All must outlive it; `suppressions` may be NULL. NULL when out
 * of memory.
 */
struct survey_keeper *survey_keeper_new(const struct survey_config *config, struct history *history,
					const struct survey_scope *scope,
					struct suppressions *suppressions);
/* Gives all functions their bytes back. NULL is fine. */
void survey_keeper_free(struct survey_keeper *keeper);

/* The survey's loop takes signals from here on: trace_options.starting. */
void survey_keeper_started(struct survey_keeper *keeper);

/* To be polled for reading; -1: nothing is loaded yet. */
int survey_keeper_fd(const struct survey_keeper *keeper);

/* Takes in what the kernel has sent. 0 or -errno, logged. */
int survey_keeper_process(struct survey_keeper *keeper);

/* To be called after each update of the history: finds processes, keeps to limits and budget. 0 or -errno, logged. */
int survey_keeper_tick(struct survey_keeper *keeper);

/* The same for the last time, when the survey ends: none is taken or given up any more. */
int survey_keeper_finish(struct survey_keeper *keeper);

/* Some process waits for the next survey_keeper_tick() only: soon, please. */
bool survey_keeper_is_hungry(const struct survey_keeper *keeper);

/* As of the last survey_keeper_tick(); each process's survey_process has its own part then. */
const struct survey_keep_report *survey_keeper_report(const struct survey_keeper *keeper);

/* Programs that have ended since they were kept: the keeper's own, to be marked as told. */
struct keep_ends *survey_keeper_ends(struct survey_keeper *keeper);

/* Adds what could not be recorded so far, by enum lost_cause. */
void survey_keeper_add_lost(const struct survey_keeper *keeper, uint64_t lost[LOSSES_ROOM]);

/*
 * Calls visit with each living process that the filters name, sampled or not. Ends with the first
 * result that is not 0, and returns it. visit must not call the keeper.
 */
int survey_keeper_each(const struct survey_keeper *keeper,
		       int (*visit)(void *ctx, const struct kept_process *p), void *ctx);

/*
 * What a process has allocated and kept since it is sampled, as trace_snapshot() has it, with all
 * stacks named. It is made only when it is asked for. 0 and *out (report_free(); its frames live as
 * long as the keeper). -ESRCH: the process is not sampled. Or another -errno, logged.
 */
int survey_keeper_snapshot(struct survey_keeper *keeper, pid_t pid, struct report **out);

#endif
