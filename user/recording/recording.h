/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file of snapshots over time. It is append-only, and each chunk is checked by length and CRC-32.
 * So it can be read up to its last complete snapshot, whatever stopped the writer. It has all names
 * in it, so it can be read anywhere. docs/recording-format.md has the format.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_H
#define MEMLEAKBPF_RECORDING_RECORDING_H

#include <stdint.h>
#include <stdio.h>

#include "user/model/inspection.h"
#include "user/model/report.h"
#include "user/model/survey_report.h"

/* What is written; those before it are read as well. 2: the same stack in another scope is a row of its own */
#define RECORDING_VERSION 2

/* Where and with what it was made. NULL: unknown. */
struct recording_info {
	const char *tool_version;
	const char *kernel, *machine, *host;
	uint64_t older_ns; /* --older, 0: not given */
};

struct recording_writer;

/* Writes the beginning. `out` stays the caller's. 0 or -errno of the failed write, not logged. */
int recording_writer_new(FILE *out, const struct recording_info *info,
			 struct recording_writer **writer);

/*
 * Appends a snapshot, all of whose stacks must have their frames, and flushes. 0 or -errno, not
 * logged. After a failed write nothing more can be added. The file is then cut back to the
 * snapshots before, where that is possible.
 */
int recording_writer_add(struct recording_writer *writer, const struct report *report);
/*
 * The same for what a survey knows at one time. report->rows are to be all processes, the most
 * suspect first. Snapshots of drilled processes are written when they are new, and all of their
 * stacks must have their frames.
 */
int recording_writer_add_survey(struct recording_writer *writer,
				const struct survey_report *report);
/* The same for one look at a process. */
int recording_writer_add_inspection(struct recording_writer *writer,
				    const struct inspection *inspection);
void recording_writer_free(struct recording_writer *writer); /* NULL is fine */

struct recording_reader;

/*
 * Reads the beginning. `name` is for messages, and must outlive the reader, as `in` must. 0; or
 * -EBADMSG (no recording, or damaged), -EPROTONOSUPPORT (of a newer version) or another -errno,
 * logged with the file's name and the offset.
 */
int recording_reader_new(FILE *in, const char *name, struct recording_reader **reader);

/* What a recording holds, one after the other: one of the three. */
struct recording_item {
	struct snapshot *snapshot;	    /* snapshot_free(); its frames belong to the reader */
	const struct survey_report *survey; /* the reader's, until the next call */
	struct inspection *inspection;	    /* inspection_free() */
	uint64_t time_ns;		    /* its own: since the epoch */
};

/*
 * The next snapshot, report of a survey or inspection, in the order of time per target: 1 and *item; a snapshot
 * comes with totals. 0 at the end, also when the
 * last one is incomplete: that is logged as a warning. -errno as above. Memory grows with the
 * different stacks in the file, not with its length.
 */
int recording_reader_next(struct recording_reader *reader, struct recording_item *item);
/* The next snapshot: all else is passed over. */
int recording_reader_next_snapshot(struct recording_reader *reader, struct snapshot **out);
/*
 * When the first process was attached to, or the survey begun: ns since the epoch, known once there
 * has been an item. Times that count from a recording's beginning count from then.
 */
uint64_t recording_reader_beginning(const struct recording_reader *reader);
/* Owned by the reader. */
const struct recording_info *recording_reader_info(const struct recording_reader *reader);
/* With all frames that it gave out; NULL is fine. */
void recording_reader_free(struct recording_reader *reader);

#endif
