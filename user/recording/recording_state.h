/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the reader of recordings knows so far: what was defined, and the rows of each target.
 * Private to user/model.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_STATE_H
#define MEMLEAKBPF_RECORDING_RECORDING_STATE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame_table.h"
#include "user/model/id_map.h"
#include "user/recording/recording.h"
#include "user/recording/recording_bad_free.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_verdict.h"
#include "user/recording/wire.h"

/* The file's numbers, from 1, to those of our own table: a file may define the same thing twice. */
struct id_list {
	uint32_t *ids;
	size_t count, room;
};

/* What the file's numbers of an enum are here, -1 for what is not known. */
struct number_list {
	int *numbers;
	size_t count;
};

struct recorded_row {
	uint64_t stack_id;
	uint32_t stack; /* of the table, 0: unknown */
	enum stack_end end;
	bool truncated;
	uint64_t values[VALUES];
	uint64_t live_before[2]; /* bytes and count, at the last snapshot */
};

struct recorded_target {
	uint32_t id;
	pid_t pid;
	char comm[16];
	char **cmdline; /* NULL: unknown */
	struct module_maps *maps;
	struct recorded_row *rows;
	size_t row_count, row_room;
	struct recorded_notes notes;
	struct recorded_bad_frees bad_frees;
};

struct survey_reading;

struct recording_reader {
	FILE *in;
	const char *name;
	uint64_t offset, chunk_at; /* in the file; of the chunk being read */
	uint64_t snapshots;
	bool unfinished; /* something has been read that no snapshot has completed */
	int failed;

	uint8_t *body;
	size_t body_room;
	struct wire_reader message; /* what is left of the body */

	struct recording_info info;
	char *tool_version, *kernel, *machine, *host;
	struct number_list causes, ends; /* enum lost_cause, enum stack_end */

	struct frame_table *table;
	struct id_list strings, frames, stacks;
	struct recorded_target *targets;
	size_t target_count;
	struct id_map target_numbers; /* target id -> place in targets */

	struct snapshot *window;       /* of a drill that is still to come; NULL: none */
	struct survey_reading *survey; /* NULL: none of it has come yet */
};

void id_list_free(struct id_list *list);
void recording_target_release(struct recorded_target *target);

/* For damage: -EBADMSG, and *why. */
static inline int recording_refuse(const char **why, const char *text)
{
	*why = text;
	return -EBADMSG;
}

/* NULL: none. */
struct recorded_target *recording_find_target(const struct recording_reader *r, uint64_t id);

/* Takes in one field of a chunk. 0, -ENOMEM or -EBADMSG with *why. Not logged. */
int recording_take_definition(struct recording_reader *r, const struct wire_field *f,
			      const char **why);

/* Makes a snapshot of what has been read: 1 and *out; else as above. */
int recording_take_snapshot(struct recording_reader *r, struct wire_reader message,
			    struct snapshot **out, const char **why);

/* recording_survey_reader.c: the messages of a survey. As recording_take_definition(). */
int recording_take_process(struct recording_reader *r, struct wire_reader message,
			   const char **why);
int recording_take_survey_rows(struct recording_reader *r, struct wire_reader body,
			       const char **why);
int recording_take_drill(struct recording_reader *r, struct wire_reader message, const char **why);

/* Makes a report of what has been read: 1 and *out; else as above. */
int recording_take_survey(struct recording_reader *r, struct wire_reader message,
			  const struct survey_report **out, const char **why);
void survey_reading_free(struct survey_reading *v); /* NULL is fine */

/* The text of the file's string number, 0 gives NULL. False: there is none. */
bool recording_string(const struct recording_reader *r, uint64_t number, const char **text);

/* Our number of the file's stack number, 0 is 0. False: there is none. */
bool recording_stack(const struct recording_reader *r, uint64_t number, uint32_t *stack);

/* Of an end that is not known here, what matters is that the stack is not complete. */
enum stack_end recording_stack_end(const struct recording_reader *r, uint64_t number);

/* By the file's numbers. */
int recording_take_lost(const struct recording_reader *r, struct wire_reader body,
			uint64_t lost[LOST_CAUSES], const char **why);

#endif
