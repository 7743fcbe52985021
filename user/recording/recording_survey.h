/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports of a survey in a recording, with what was drilled. docs/recording-format.md has the
 * format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_SURVEY_H
#define MEMLEAKBPF_RECORDING_RECORDING_SURVEY_H

#include "user/recording/recording_process.h"
#include "user/recording/recording_snapshot.h"

/* What the file has of a survey. All zero: nothing. */
struct written_survey {
	struct written_processes processes;
	uint32_t *order, *order_before; /* numbers of processes, of this report and the last */
	size_t order_count, order_before_count;
	uint64_t reports;
	uint32_t windows;
};

void written_survey_free(struct written_survey *v);

/* Adds the report, with all that is new for it; the last chunk is not flushed. 0 or -errno. */
int recording_put_survey(struct recording_out *out, struct written_targets *targets,
			 struct written_survey *v, const struct survey_report *report);

/* What has been read of a survey. All zero: nothing. */
struct read_survey {
	struct read_processes processes;
	struct snapshot *window; /* of a drill that is still to come; NULL: none */
	uint32_t *order;
	size_t order_count;
	struct survey_row *rows;
	struct survey_keep_report keep;
	struct survey_report report;
};

void read_survey_free(struct read_survey *v);

/* Takes in a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_drill(struct recording_in *in, struct read_survey *v,
			 struct wire_reader message);
/* Of what is kept, and of what its guarded blocks have shown. */
int recording_take_survey_kept(struct recording_in *in, struct read_survey *v,
			       struct wire_reader message);
int recording_take_survey_bad_access(struct recording_in *in, struct read_survey *v,
				     struct wire_reader message);
/* The message that completes v->report. As above. */
int recording_take_survey(struct recording_in *in, struct read_survey *v,
			  struct wire_reader message);

extern const struct field recording_drill_fields[], recording_survey_fields[];

#endif
