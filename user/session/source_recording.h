/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recording as a source of snapshots, with all their names: what report and diff share. */
#ifndef MEMLEAKBPF_SESSION_SOURCE_RECORDING_H
#define MEMLEAKBPF_SESSION_SOURCE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "user/recording/recording.h"
#include "user/session/session_config.h"
#include "user/session/source.h"

struct source_recording;

/*
 * Opens the file; "-" is standard input. The config must outlive it. 0 or -errno, logged: -EINVAL
 * too when it is the one that -o would write over.
 */
int source_recording_open(const char *path, const struct replay_config *config,
			  struct source_recording **out);
void source_recording_free(
	struct source_recording *recording); /* with all frames of its snapshots; NULL is fine */

/*
 * The next snapshot of one of the wanted processes (all of them when there are no pids). As
 * recording_reader_next_snapshot().
 */
int source_recording_next(struct source_recording *recording, struct snapshot **out);

/*
 * The same, or the next report of a survey, with all of its processes, or the next inspection of one
 * of the wanted: as recording_reader_next().
 */
int source_recording_next_any(struct source_recording *recording, struct recording_item *item);
bool source_recording_wants(const struct replay_config *config, pid_t pid,
			    const char comm[static 16]);

/* What a pipeline needs of it: snapshots before --from are not shown. */
const struct source *source_recording_source(const struct source_recording *recording);
const struct recording_info *source_recording_info(const struct source_recording *recording);

/*
 * A time as given, in ns since the epoch; what counts from the recording's beginning does so from
 * when its first process was attached to. Needs one snapshot to have been read.
 */
uint64_t source_recording_time(const struct source_recording *recording,
			       const struct replay_time *time);

/*
 * Does what was taken at `taken_ns`, `before_ns` after the one before it (or the beginning), come after
 * the time? Of two the nearer one is of the time: a snapshot "at 1s" is some milliseconds late.
 */
bool source_recording_is_late(const struct source_recording *recording,
			      const struct replay_time *time, uint64_t taken_ns,
			      uint64_t before_ns);
/* The same of a process's snapshot. */
bool source_recording_snapshot_is_late(const struct source_recording *recording,
				       const struct replay_time *time, const struct snapshot *s);

/*
 * Once all has been read. Says so, with where it ends, if the time lies behind that: true.
 */
bool source_recording_say_beyond(const struct source_recording *recording, const char *option,
				 const struct replay_time *time);
/* Says why nothing is shown: no such process, no such time, nothing there. */
void source_recording_say_nothing(const struct source_recording *recording, const char *path);

/*
 * Says, once, which snapshots were found for a time that was given (as `option`): those from `first_ns`
 * to `last_ns`; 0: none.
 */
void source_recording_say_found(const struct source_recording *recording, const char *option,
				const struct replay_time *time, uint64_t first_ns,
				uint64_t last_ns);

#endif
