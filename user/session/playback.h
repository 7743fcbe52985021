/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Going through a recording: what report and diff share. */
#ifndef MEMLEAKBPF_SESSION_PLAYBACK_H
#define MEMLEAKBPF_SESSION_PLAYBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "user/session/session_config.h"
#include "user/recording/recording.h"

struct playback;

/*
 * Opens the file; "-" is standard input. 0 or -errno, logged: -EINVAL too when it is the one that
 * -o would write over.
 */
int playback_open(const char *path, const struct replay_config *config, struct playback **out);
void playback_free(struct playback *playback); /* with all frames of its snapshots; NULL is fine */

/*
 * The next snapshot of one of the wanted processes (all of them when pid_count is 0). As
 * recording_reader_next_snapshot().
 */
int playback_next(struct playback *playback, const struct replay_config *config,
		  struct snapshot **out);

/*
 * The same, or the next report of a survey, with all of its processes: as
 * recording_reader_next().
 */
int playback_next_any(struct playback *playback, const struct replay_config *config,
		      struct snapshot **out, const struct survey_report **survey);
bool playback_wants(const struct replay_config *config, pid_t pid);

const struct recording_info *playback_info(const struct playback *playback);

/*
 * A time as given, in ns since the epoch; what counts from the recording's beginning does so from
 * when its first process was attached to. Needs one snapshot to have been read.
 */
uint64_t playback_time(const struct playback *playback, const struct replay_time *time);

#endif
