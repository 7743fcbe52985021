/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What all messages of a recording are written to and read from: the chunk, and strings, frames and
 * stacks. Each of these stands in the file once, and later messages name it by its number. Private
 * to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_NAMES_H
#define MEMLEAKBPF_RECORDING_RECORDING_NAMES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame_table.h"
#include "user/model/missing.h"
#include "user/recording/fields.h"
#include "user/recording/recording_chunk.h"
#include "user/recording/recording_header.h"

struct recording_out {
	struct chunk_writer chunk;
	struct frame_table *table;	/* its numbers are the file's */
	size_t strings, frames, stacks; /* how many of the table's are in the file */
	struct missing_parts missing;	/* those that are in the file */
};

/* Adds what has come into the table since the last time; large chunks are flushed. 0 or -errno. */
int recording_put_names(struct recording_out *out);

/* The file's numbers, from 1, to those of our own table: a file may define the same thing twice. */
struct id_list {
	uint32_t *ids;
	size_t count, room;
};

struct recording_in {
	struct recording_header header;
	struct frame_table *table;
	struct id_list strings, frames, stacks;
	struct missing_parts missing; /* whose strings are the table's */
	const char *why;	      /* of the last -EBADMSG */
};

void recording_in_free(struct recording_in *in);

/* For damage: -EBADMSG, and why, for who logs it. */
static inline int recording_refuse(struct recording_in *in, const char *why)
{
	in->why = why;
	return -EBADMSG;
}

/* Each takes in a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_string(struct recording_in *in, struct wire_reader body);
int recording_take_frame(struct recording_in *in, struct wire_reader message);
int recording_take_stack(struct recording_in *in, struct wire_reader body);

/* The table's number for the file's, 0 for 0. False: the file has not defined it. */
static inline bool id_list_get(const struct id_list *list, uint64_t number, uint32_t *id)
{
	*id = 0;
	if (number > list->count)
		return false;
	if (number)
		*id = list->ids[number - 1];
	return true;
}

/* The text of the file's string number, 0 gives NULL; len may be NULL. False: there is none. */
static inline bool recording_string(const struct recording_in *in, uint64_t number,
				    const char **text, size_t *len)
{
	uint32_t id;

	if (!id_list_get(&in->strings, number, &id))
		return false;
	*text = frame_table_string_at(in->table, id, len);
	return true;
}

/* Our number of the file's stack number, 0 is 0. False: there is none. */
static inline bool recording_stack(const struct recording_in *in, uint64_t number, uint32_t *stack)
{
	return id_list_get(&in->stacks, number, stack);
}

/* Adds a message behind the strings that it names; a large chunk is flushed. 0 or -errno. */
int recording_put_message(struct recording_out *out, unsigned message, const struct field *table,
			  const void *from);
extern const struct field recording_header_fields[], recording_frame_fields[];

#endif
