/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recording as a source of snapshots, with all their names: for report and diff. */
#ifndef MEMLEAKBPF_SESSION_SOURCE_RECORDING_H
#define MEMLEAKBPF_SESSION_SOURCE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "user/recording/recording.h"
#include "user/session/session_config.h"
#include "user/session/source.h"

struct source_recording;

/*
 * Opens the file; "-" is standard input. The config must outlive it. 0 or -errno, logged: -EINVAL,
 * too, when -o would write over it.
 */
int source_recording_open(const char *path, const struct replay_config *config,
			  struct source_recording **out);
void source_recording_free(
	struct source_recording *recording); /* with all frames of its snapshots; NULL is fine */

/*
 * Reads the next snapshot of one of the wanted processes (of all when there are no pids). As
 * recording_reader_next_snapshot().
 */
int source_recording_next(struct source_recording *recording, struct snapshot **out);

/*
 * The same; or reads the next report of a survey, with all its processes, or a wanted process's
 * next inspection: as recording_reader_next().
 */
int source_recording_next_any(struct source_recording *recording, struct recording_item *item);
bool source_recording_wants(const struct replay_config *config, pid_t pid,
			    const char comm[static 16]);

/* The recording as a pipeline's source: it does not show snapshots before --from. */
const struct source *source_recording_source(const struct source_recording *recording);
const struct recording_info *source_recording_info(const struct source_recording *recording);

/*
 * Converts a time as given to ns since the epoch. Relative times count from the attach to the
 * recording's first process. Needs one snapshot to have been read.
 */
uint64_t source_recording_time(const struct source_recording *recording,
			       const struct replay_time *time);

/*
 * Does a snapshot taken at `taken_ns` come after the time? The one before it (or the beginning) is
 * `before_ns` older. Of two the nearer one belongs to the time: a snapshot "at 1s" is some
 * milliseconds late.
 */
bool source_recording_is_late(const struct source_recording *recording,
			      const struct replay_time *time, uint64_t taken_ns,
			      uint64_t before_ns);
/* The same for a process's snapshot. */
bool source_recording_snapshot_is_late(const struct source_recording *recording,
				       const struct replay_time *time, const struct snapshot *s);

/*
 * Call it once all has been read. Does the time lie behind the recording's end? Then says so, with
 * where it ends.
 */
bool source_recording_say_beyond(const struct source_recording *recording, const char *option,
				 const struct replay_time *time);
/* Says why nothing is shown: no such process, no such time, nothing there. */
void source_recording_say_nothing(const struct source_recording *recording, const char *path);

/*
 * Says, once, which snapshots were found for a given time (of `option`): those from `first_ns` to
 * `last_ns`; 0: none.
 */
void source_recording_say_found(const struct source_recording *recording, const char *option,
				const struct replay_time *time, uint64_t first_ns,
				uint64_t last_ns);

#endif
