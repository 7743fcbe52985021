/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The survey's second stage: sampled probes on the most suspect processes, for a window of time and
 * within a budget of CPU time, by turns. What they find is left in each process's survey_process.
 */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_DRILLER_H
#define MEMLEAKBPF_SURVEY_SURVEY_DRILLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/look/survey_scope.h"

struct survey_driller;

/*
 * Nothing is loaded before the first suspect. All three must outlive it. NULL when out of memory.
 */
struct survey_driller *survey_driller_new(const struct survey_config *config,
					  struct history *history,
					  const struct survey_scope *scope);
void survey_driller_free(struct survey_driller *driller); /* takes the probes off; NULL is fine */

/* To be polled for reading; -1: nothing is loaded yet. */
int survey_driller_fd(const struct survey_driller *driller);

/* Takes in what the kernel has sent. 0 or -errno, logged. */
int survey_driller_process(struct survey_driller *driller);

/*
 * Opens and closes windows, and keeps to the budget. To be called after each update of the history,
 * before the next one forgets processes that have ended. Also every 100 ms while
 * survey_driller_is_open(). 0 or -errno, logged.
 */
int survey_driller_tick(struct survey_driller *driller);

/*
 * From now on that process comes first, whether it grows or not. It gets its turn whenever there is
 * room in the budget. pid 0: none comes first.
 */
void survey_driller_want(struct survey_driller *driller, pid_t pid, uint64_t start_ticks);

/* Ends the window now: what has been found so far is what was found. */
void survey_driller_close(struct survey_driller *driller);

bool survey_driller_is_open(const struct survey_driller *driller);
size_t survey_driller_watched(
	const struct survey_driller *driller); /* suspects with probes on them */
/* Of a CPU that the probes took, over the last minute. */
double survey_driller_share(const struct survey_driller *driller);
uint64_t survey_driller_sample_bytes(const struct survey_driller *driller);

/* What the probes have cost and lost since the beginning; the other members stay as they are. */
void survey_driller_totals(const struct survey_driller *driller, struct survey_totals *totals);

#endif
