/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a recording has of a target's scopes (--scope): a message for each whose figures have changed.
 * Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_SCOPES_H
#define MEMLEAKBPF_RECORDING_RECORDING_SCOPES_H

#include "user/model/snapshot.h"
#include "user/recording/recording_names.h"

/*
 * Writes what has changed since *known, which is what the file has of the target. numbers: for each
 * of the snapshot's scopes its place in *known, from 1. 0 or -errno.
 */
int recording_put_scopes(struct recording_out *out, uint32_t target, struct scopes_list *known,
			 const struct snapshot *s, uint32_t *numbers);

struct read_target;

/* Takes in such a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_scope(struct recording_in *in, struct read_target *t,
			 struct wire_reader message);

extern const struct field recording_scope_fields[];

#endif
