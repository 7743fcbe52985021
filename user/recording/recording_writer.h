/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the writer of recordings knows that it has written: of targets, and
 * (recording_survey_writer.c) of a survey. Private to user/model.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_WRITER_H
#define MEMLEAKBPF_RECORDING_RECORDING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/model/frame_table.h"
#include "user/model/id_map.h"
#include "user/recording/recording.h"
#include "user/recording/recording_bad_free.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_verdict.h"
#include "user/recording/wire.h"

struct recorded_survey;

struct row {
	uint32_t stack; /* number of the frames, 0: unknown so far */
	uint64_t values[VALUES];
};

struct target_state {
	uint32_t id;
	char comm[16];
	bool described;
	struct module_maps *maps; /* as written last */
	struct id_map numbers;	  /* stack id -> row */
	struct row *rows;
	size_t row_count, row_room;
	struct recorded_notes notes;
	struct recorded_bad_frees bad_frees;
};

struct recording_writer {
	FILE *out;
	int error; /* sticky */
	struct wire chunk;
	struct frame_table *table;
	size_t strings_written, frames_written, stacks_written;
	struct target_state **targets;
	size_t target_count;
	struct recorded_survey *survey; /* NULL: of a survey nothing has been written */
};

/* Ends the chunk and writes it. 0 or -errno, sticky. */
int recording_flush(struct recording_writer *w);

/* Adds what has come into the table since the last time; large chunks are flushed. 0 or -errno. */
int recording_put_definitions(struct recording_writer *w);

void recorded_survey_free(struct recorded_survey *v); /* NULL is fine */

#endif
