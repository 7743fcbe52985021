// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is written, in which order: recording_put_snapshot(), recording_put_survey(). */
#include <errno.h>
#include <stdlib.h>

#include "user/recording/recording.h"
#include "user/recording/recording_inspection.h"
#include "user/recording/recording_survey.h"

struct recording_writer {
	struct recording_out out;
	struct written_targets targets;
	struct written_survey survey;
};

int recording_writer_new(FILE *out, const struct recording_info *info,
			 struct recording_writer **writer)
{
	struct recording_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->out.chunk.out = out;
	w->out.table = frame_table_new();
	err = w->out.table ? chunk_write_prefix(&w->out.chunk) : -ENOMEM;
	err = err ? err : recording_put_header(&w->out, info);
	err = err ? err : chunk_flush(&w->out.chunk);
	if (err) {
		recording_writer_free(w);
		return err;
	}
	*writer = w;
	return 0;
}

void recording_writer_free(struct recording_writer *w)
{
	if (!w)
		return;
	written_targets_free(&w->targets);
	written_survey_free(&w->survey);
	frame_table_free(w->out.table);
	chunk_writer_free(&w->out.chunk);
	free(w);
}

/* Half of something cannot be taken back from the chunk: nothing more is written after an error. */
static int writer_finish(struct recording_writer *w, int err)
{
	if (err)
		return w->out.chunk.error = err;
	return chunk_flush(&w->out.chunk);
}

int recording_writer_add(struct recording_writer *w, const struct report *report)
{
	if (w->out.chunk.error)
		return w->out.chunk.error;
	return writer_finish(w, recording_put_snapshot(&w->out, &w->targets, report));
}

int recording_writer_add_survey(struct recording_writer *w, const struct survey_report *report)
{
	if (w->out.chunk.error)
		return w->out.chunk.error;
	return writer_finish(w, recording_put_survey(&w->out, &w->targets, &w->survey, report));
}

int recording_writer_add_inspection(struct recording_writer *w, const struct inspection *inspection)
{
	if (w->out.chunk.error)
		return w->out.chunk.error;
	return writer_finish(w, recording_put_inspection(&w->out, inspection));
}
