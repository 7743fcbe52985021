/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What guarded blocks have shown (--guard) in a recording: each is described once, and again when a
 * stack of it gets its names; its count whenever it changes. They are a target's, or those of a process that a survey
 * keeps. docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_BAD_ACCESS_H
#define MEMLEAKBPF_RECORDING_RECORDING_BAD_ACCESS_H

#include "user/model/bad_access.h"
#include "user/model/id_map.h"
#include "user/recording/recording_names.h"

struct recorded_bad_access {
	struct bad_access bad; /* without frames, which are a table's: */
	uint32_t stacks[BAD_ACCESS_STACKS];
	uint64_t now; /* writer: its count in the snapshot that is being written */
};

/* Of one owner, by their numbers in the file. All zero: none so far. */
struct recorded_bad_accesses {
	struct recorded_bad_access *items;
	size_t count, room;
	struct id_map numbers; /* writer: by what makes one another than the others */
};

void recorded_bad_accesses_free(struct recorded_bad_accesses *list); /* empty afterwards */

/* Whose they are: the number of a message, and what its first field says. */
struct bad_access_owner {
	unsigned message; /* enum recording_message */
	uint32_t number;
};

/* Writes what is new of those that there are now, as messages of their own. 0 or -errno. */
int recording_put_bad_accesses(struct recording_out *out, struct bad_access_owner owner,
			       struct recorded_bad_accesses *list, const struct bad_access *bad,
			       size_t count);

struct read_target;

/* Takes in such a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_bad_access_of(struct recording_in *in, struct recorded_bad_accesses *list,
				 struct wire_reader message);
/* The same, of a target. */
int recording_take_bad_access(struct recording_in *in, struct read_target *t,
			      struct wire_reader message);
/* What all of them say, sorted: *out is allocated, NULL where there are none. 0 or -ENOMEM. */
int recording_fill_bad_accesses(const struct recording_in *in,
				const struct recorded_bad_accesses *list, struct bad_access **out,
				size_t *count);

#endif
