/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stacks of a target, each with its counts: described once, as a row, and written again by what
 * has changed. docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_ROWS_H
#define MEMLEAKBPF_RECORDING_RECORDING_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/id_map.h"
#include "user/model/report.h"
#include "user/recording/recording_names.h"

/* The numbers of a row, in the order in which they are stored. */
enum row_value {
	VALUE_ALLOC_BYTES,
	VALUE_ALLOC_COUNT,
	VALUE_FREE_BYTES,
	VALUE_FREE_COUNT,
	VALUE_LIVE_BYTES,
	VALUE_LIVE_COUNT,
	VALUE_OLDER_BYTES,
	VALUE_OLDER_COUNT,
	VALUE_OLDEST, /* when the oldest live block was made: ns since attach, plus 1; 0: unknown */
	VALUE_ERROR,  /* the bits of error_bytes */
	ROW_VALUES,
};

/* What the file has of a target's rows. All zero: none. */
struct written_rows {
	struct written_row {
		uint32_t stack; /* number of the frames, 0: unknown so far */
		uint64_t values[ROW_VALUES];
	} * items;
	size_t count, room;
	struct id_map numbers; /* stack id -> row */
};

void written_rows_free(struct written_rows *rows);

/*
 * Describes the rows of stacks that are new, or whose frames have come only now. scopes: the number,
 * from 1, of each of the snapshot's scopes. *numbers: the row of each stack. 0 or -errno.
 */
int recording_put_rows(struct recording_out *out, uint32_t target, struct written_rows *rows,
		       const struct report *report, const uint32_t *scopes, uint32_t *numbers);
/* Adds what has changed in them. 0 or -errno. */
int recording_put_values(struct recording_out *out, uint32_t target, struct written_rows *rows,
			 const struct snapshot *s, const uint32_t *numbers);

/* What has been read of a target's rows. All zero: none. */
struct read_rows {
	struct read_row {
		uint64_t stack_id;
		uint32_t stack; /* of the table, 0: unknown */
		uint32_t scope; /* of the target, from 1; 0: none */
		enum stack_end end;
		bool truncated;
		uint64_t values[ROW_VALUES];
	} * items;
	size_t count, room;
};

struct read_target;

/* Each takes in a message of the target. 0, -ENOMEM or recording_refuse(). */
int recording_take_row(struct recording_in *in, struct read_target *t, struct wire_reader message);
int recording_take_values(struct recording_in *in, struct read_target *t,
			  struct wire_reader message);

/* The snapshot's stacks and their sums; its elapsed_ns is set. 0 or -ENOMEM. */
int recording_fill_stacks(const struct recording_in *in, struct read_rows *rows,
			  struct snapshot *s);

extern const struct field recording_row_fields[];

#endif
