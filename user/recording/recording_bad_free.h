/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bad frees (--check-frees) in a recording: each is described once, and again when its count or a
 * stack of it changes. docs/recording-format.md has the format. Private to
 * user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_BAD_FREE_H
#define MEMLEAKBPF_RECORDING_RECORDING_BAD_FREE_H

#include "user/model/bad_free.h"
#include "user/model/id_map.h"
#include "user/model/report.h"
#include "user/recording/recording_names.h"

struct recorded_bad_free {
	struct bad_free bad; /* without frames, which are a table's: */
	uint32_t stacks[BAD_FREE_STACKS];
	uint64_t now; /* writer: its count in the snapshot that is being written */
};

/* Of a target, by their numbers in the file. All zero: none so far. */
struct recorded_bad_frees {
	struct recorded_bad_free *items;
	size_t count, room;
	struct id_map numbers; /* writer: by what makes one another than the others */
};

void recorded_bad_frees_free(struct recorded_bad_frees *list); /* empty afterwards */

/* Writes what is new of a snapshot's, as messages of their own. 0 or -errno. */
int recording_put_bad_frees(struct recording_out *out, uint32_t target,
			    struct recorded_bad_frees *list, const struct report *report);

struct read_target;

/* Takes in such a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_bad_free(struct recording_in *in, struct read_target *t,
			    struct wire_reader message);
/* What all of them say, for a snapshot. 0 or -ENOMEM. */
int recording_fill_bad_frees(const struct recording_in *in, const struct recorded_bad_frees *list,
			     struct snapshot *s);

#endif
