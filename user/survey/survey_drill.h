/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The survey's second stage: sampled probes on the most suspect processes, for a window of time and
 * within a budget of CPU time, by turns. What they find is left in each process's survey_process.
 */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_DRILL_H
#define MEMLEAKBPF_SURVEY_SURVEY_DRILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/survey/survey_process.h"

struct drill;

/*
 * Nothing is loaded before the first suspect. All three must outlive it. NULL when out of memory.
 */
struct drill *drill_new(const struct survey_config *config, struct history *history,
			const struct scope *scope);
void drill_free(struct drill *drill); /* takes the probes off; NULL is fine */

/* To be polled for reading; -1: nothing is loaded yet. */
int drill_fd(const struct drill *drill);

/* Takes in what the kernel has sent. 0 or -errno, logged. */
int drill_process(struct drill *drill);

/*
 * To be called after each update of the history, before processes that have ended are forgotten by
 * the next one, and every 100 ms while drill_open(): opens and closes windows, keeps to the budget.
 * 0 or -errno, logged.
 */
int drill_tick(struct drill *drill);

/* Ends the window now: what has been found so far is what was found. */
void drill_close(struct drill *drill);

bool drill_open(const struct drill *drill);
size_t drill_watched(const struct drill *drill); /* suspects with probes on them */
/* Of a CPU that the probes took, over the last minute. */
double drill_share(const struct drill *drill);
uint64_t drill_sample_bytes(const struct drill *drill);

/* What the probes have cost and lost since the beginning; the other members stay as they are. */
void drill_totals(const struct drill *drill, struct survey_totals *totals);

#endif
