/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots in a recording, with all the messages that have to stand before one. Private to
 * user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_SNAPSHOT_H
#define MEMLEAKBPF_RECORDING_RECORDING_SNAPSHOT_H

#include "user/recording/recording_target.h"

/* Adds the snapshot, with what is new of its target; does not flush. 0 or -errno. */
int recording_put_snapshot(struct recording_out *out, struct written_targets *targets,
			   const struct report *report);

/*
 * Takes in the message that completes a snapshot: 0 and *out (snapshot_free), -ENOMEM or
 * recording_refuse().
 */
int recording_take_snapshot(struct recording_in *in, struct read_target *t,
			    struct wire_reader message, struct snapshot **out);

extern const struct field recording_snapshot_fields[];

#endif
