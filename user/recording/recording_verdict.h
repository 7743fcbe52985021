/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdict of a snapshot in a recording, with what it says of single stacks.
 * docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_VERDICT_H
#define MEMLEAKBPF_RECORDING_RECORDING_VERDICT_H

#include "user/model/snapshot.h"
#include "user/recording/recording_names.h"

struct recorded_note;

/*
 * What the last verdict said of a target's stacks beside their classes: what holds them, and the
 * contents of lost blocks. Writer and reader keep it, by row, so that only what changes is written.
 * All zero: nothing.
 */
struct recorded_notes {
	struct recorded_note *items;
	size_t count;
};

void recorded_notes_free(struct recorded_notes *notes); /* empty afterwards */

/*
 * Adds the field to the snapshot's message, if it has a verdict. numbers: the row of each stack. 0
 * or -ENOMEM.
 */
int recording_put_verdict(struct recording_out *out, const struct snapshot *s,
			  const uint32_t *numbers, struct recorded_notes *notes);

/* Reads it into a snapshot whose stacks are in the order of their rows. 0, -ENOMEM or
   recording_refuse(). */
int recording_take_verdict(struct recording_in *in, struct wire_reader message, struct snapshot *s,
			   struct recorded_notes *notes);

/* The field of a snapshot: no row of its table, as it needs the stacks. */
#define SNAPSHOT_VERDICT 12

extern const struct field recording_verdict_fields[];

#endif
