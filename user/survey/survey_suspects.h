/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose turn it is to get the survey's probes. */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_SUSPECTS_H
#define MEMLEAKBPF_SURVEY_SURVEY_SUSPECTS_H

#include "user/look/survey_scope.h"

/*
 * Of those that grow, are wanted and can have probes, at most config->probes.suspects. First come those
 * with the least time left until their memory is full, then those that have waited longest. now:
 * CLOCK_MONOTONIC. Returns how many; the processes are the history's.
 */
size_t survey_suspects_choose(const struct survey_config *config, struct history *history,
			      const struct survey_scope *scope, uint64_t now,
			      struct history_process *chosen[SURVEY_SUSPECTS_MAX]);

/*
 * That process, also one that has ended since the last update: it is shown once more. NULL: it is
 * not there.
 */
struct history_process *survey_suspects_find(struct history *history, pid_t pid,
					     uint64_t start_ticks);

#endif
