/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Misuses (--check-frees, --guard) in a recording. Each is described once, and again when one of
 * its stacks gets its names. Its count is written whenever it changes. They belong to a target, or
 * to a process that a survey keeps. docs/recording-format.md has the format. Private to
 * user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_MISUSE_H
#define MEMLEAKBPF_RECORDING_RECORDING_MISUSE_H

#include "user/model/id_map.h"
#include "user/model/misuse.h"
#include "user/recording/recording_names.h"

/* One finder's of one owner, by their numbers in the file. All zero: none so far. */
struct recorded_misuses {
	struct recorded_misuse *items;
	size_t count, room;
	struct id_map numbers; /* writer: by what makes one another than the others */
};

void recorded_misuses_free(struct recorded_misuses *list); /* empty afterwards */

/* Who has found them, and whose they are: a target, or a process that a survey keeps. */
struct misuse_owner {
	enum misuse_finder finder;
	unsigned message; /* enum recording_message */
	uint32_t number;  /* what its first field says */
};

/* Writes what is new of those that there are now, as messages of their own. 0 or -errno. */
int recording_put_misuses(struct recording_out *out, struct misuse_owner owner,
			  struct recorded_misuses *list, const struct misuse_list *now);

/* Takes in such a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_misuse(struct recording_in *in, enum misuse_finder finder,
			  struct recorded_misuses *list, struct wire_reader message);
/* What all of them say, sorted: out->items is allocated, NULL where there are none. 0 or -ENOMEM. */
int recording_fill_misuses(const struct recording_in *in, const struct recorded_misuses *list,
			   struct misuse_list *out);

/* The fields of the messages of either finder. */
extern const struct field recording_check_fields[], recording_guard_fields[];

#endif
