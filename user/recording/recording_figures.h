/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a recording has of stacks beside their values (--lifetimes and the like): a message for each
 * row whose figures have changed. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_FIGURES_H
#define MEMLEAKBPF_RECORDING_RECORDING_FIGURES_H

#include "user/model/snapshot.h"
#include "user/recording/recording_names.h"

/* Of a target, by the rows of its stacks: what the file has said so far. All zero: nothing. */
struct recorded_figures {
	struct stack_figures *rows;
	size_t count, room;
};

void recorded_figures_free(struct recorded_figures *figures); /* empty afterwards */

/* Writes what has changed; numbers: the row of each stack. 0 or -errno. */
int recording_put_figures(struct recording_out *out, uint32_t target,
			  struct recorded_figures *figures, const struct snapshot *s,
			  const uint32_t *numbers);

struct read_target;

/* Takes in such a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_figures(struct recording_in *in, struct read_target *t,
			   struct wire_reader message);
/* Those of the snapshot's stacks, where its figures_kept says that there are any. 0 or -ENOMEM. */
int recording_fill_figures(const struct recorded_figures *figures, struct snapshot *s);

extern const struct field recording_figures_fields[];

#endif
