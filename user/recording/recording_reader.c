// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which message is read where. Every number of the file is checked before it is used: a recording
 * may come from anywhere.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/recording/recording.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_inspection.h"
#include "user/recording/recording_missing.h"
#include "user/recording/recording_scopes.h"
#include "user/recording/recording_survey.h"

struct recording_reader {
	struct chunk_reader chunk;
	struct recording_in in;
	struct read_targets targets;
	struct read_survey survey;
	uint64_t items;
	uint64_t beginning_ns;
	bool unfinished; /* something has been read that no snapshot has completed */
	int failed;
};

/*
 * The table of a message's fields, and who takes it in. What completes nothing by itself has one of
 * the three ways.
 */
static const struct reader_message {
	const struct field *fields;
	int (*take)(struct recording_in *in, struct wire_reader message);
	int (*take_of_target)(struct recording_in *in, struct read_target *t,
			      struct wire_reader message);
	const char *no_target; /* why it is refused if there is none */
	int (*take_of_survey)(struct recording_in *in, struct read_survey *v,
			      struct wire_reader message);
} reader_messages[MESSAGES] = {
	[MESSAGE_HEADER] = {.fields = recording_header_fields},
	[MESSAGE_STRING] = {.take = recording_take_string},
	[MESSAGE_FRAME] = {.fields = recording_frame_fields, .take = recording_take_frame},
	[MESSAGE_STACK] = {.take = recording_take_stack},
	[MESSAGE_MISSING] = {.fields = recording_missing_fields, .take = recording_take_missing},
	[MESSAGE_TARGET] = {.fields = recording_target_fields},
	[MESSAGE_ROW] = {.fields = recording_row_fields,
			 .take_of_target = recording_take_row,
			 .no_target = "a row of a target that is not there"},
	[MESSAGE_VALUES] = {.take_of_target = recording_take_values,
			    .no_target = "values of a target that is not there"},
	[MESSAGE_MAPS] = {.fields = recording_maps_fields,
			  .take_of_target = recording_take_maps,
			  .no_target = "mappings of a target that is not there"},
	[MESSAGE_SNAPSHOT] = {.fields = recording_snapshot_fields},
	[MESSAGE_BAD_ACCESS] = {.fields = recording_guard_fields,
				.take_of_target = recording_take_bad_access,
				.no_target = "a bad access of a target that is not there"},
	[MESSAGE_BAD_FREE] = {.fields = recording_check_fields,
			      .take_of_target = recording_take_bad_free,
			      .no_target = "a bad free of a target that is not there"},
	[MESSAGE_FIGURES] = {.fields = recording_figures_fields,
			     .take_of_target = recording_take_figures,
			     .no_target = "figures of a target that is not there"},
	[MESSAGE_SCOPE] = {.fields = recording_scope_fields,
			   .take_of_target = recording_take_scope,
			   .no_target = "a scope of a target that is not there"},
	[MESSAGE_PROCESS] = {.fields = recording_process_fields,
			     .take_of_survey = recording_take_process},
	[MESSAGE_PROCESS_VALUES] = {.take_of_survey = recording_take_process_values},
	[MESSAGE_PROCESS_RSS] = {.take_of_survey = recording_take_process_rss},
	[MESSAGE_PROCESS_GROWTH] = {.take_of_survey = recording_take_process_growth},
	[MESSAGE_DRILL] = {.fields = recording_drill_fields,
			   .take_of_survey = recording_take_drill},
	[MESSAGE_SURVEY] = {.fields = recording_survey_fields},
	[MESSAGE_KEPT] = {.fields = recording_kept_fields,
			  .take_of_survey = recording_take_survey_kept},
	[MESSAGE_KEPT_BAD_ACCESS] = {.fields = recording_guard_fields,
				     .take_of_survey = recording_take_survey_bad_access},
	[MESSAGE_INSPECTION] = {.fields = recording_inspection_fields},
};

const struct field *recording_message_fields(unsigned message)
{
	return message < MESSAGES ? reader_messages[message].fields : NULL;
}

static int reader_complete(struct recording_reader *r, uint64_t time_ns, uint64_t elapsed_ns)
{
	if (!r->items++)
		r->beginning_ns = time_ns > elapsed_ns ? time_ns - elapsed_ns : 0;
	r->unfinished = false;
	return 1;
}

static int reader_take_snapshot(struct recording_reader *r, struct wire_reader message,
				struct recording_item *item)
{
	struct read_target *t = read_target_of(&r->targets, message);
	struct snapshot *s;
	int err;

	if (!t)
		return recording_refuse(&r->in, "a snapshot of a target that is not there");
	err = recording_take_snapshot(&r->in, t, message, &s);
	if (err)
		return err;
	/* What a window has counted belongs to the drill that follows. */
	if (s->window) {
		snapshot_free(r->survey.window);
		r->survey.window = s;
		return 0;
	}
	*item = (struct recording_item){.snapshot = s, .time_ns = s->time_ns};
	return reader_complete(r, s->time_ns, s->elapsed_ns);
}

static int reader_take_survey(struct recording_reader *r, struct wire_reader message,
			      struct recording_item *item)
{
	const struct survey_report *report = &r->survey.report;
	int err = recording_take_survey(&r->in, &r->survey, message);

	if (err)
		return err;
	*item = (struct recording_item){.survey = report, .time_ns = report->time_ns};
	return reader_complete(r, report->time_ns, report->elapsed_ns);
}

static int reader_take_inspection(struct recording_reader *r, struct wire_reader message,
				  struct recording_item *item)
{
	struct inspection *inspection;
	int err = recording_take_inspection(&r->in, message, &inspection);

	if (err)
		return err;
	*item = (struct recording_item){.inspection = inspection, .time_ns = inspection->time_ns};
	return reader_complete(r, inspection->time_ns, inspection->elapsed_ns);
}

/* 1 and *item: the message has completed it; 0; -ENOMEM or recording_refuse(). */
static int reader_take(struct recording_reader *r, const struct wire_field *f,
		       struct recording_item *item)
{
	const struct reader_message *m;
	struct read_target *t;

	/* Fields of later versions' making are passed over. */
	if (f->type != WIRE_BYTES || f->field >= MESSAGES)
		return 0;
	switch (f->field) {
	case MESSAGE_SNAPSHOT:
		return reader_take_snapshot(r, f->body, item);
	case MESSAGE_SURVEY:
		return reader_take_survey(r, f->body, item);
	case MESSAGE_INSPECTION:
		return reader_take_inspection(r, f->body, item);
	case MESSAGE_TARGET:
		return recording_take_target(&r->in, &r->targets, f->body);
	default:
		break;
	}
	m = &reader_messages[f->field];
	if (m->take)
		return m->take(&r->in, f->body);
	if (m->take_of_survey)
		return m->take_of_survey(&r->in, &r->survey, f->body);
	if (!m->take_of_target)
		return 0;
	t = read_target_of(&r->targets, f->body);
	return t ? m->take_of_target(&r->in, t, f->body) : recording_refuse(&r->in, m->no_target);
}

/* 1: a chunk is there; 0: the end; -errno, logged. */
static int reader_next_chunk(struct recording_reader *r)
{
	int got = chunk_read(&r->chunk);

	if (!got && (r->chunk.cut || r->unfinished))
		log_warn("%s: ends in the middle of a snapshot, at offset %" PRIu64 "; the %" PRIu64
			 " before it are complete",
			 r->chunk.name, r->chunk.offset, r->items);
	return got;
}

/* Of a writer that died at once there may be no more than the prefix. */
static int reader_take_header(struct recording_reader *r)
{
	int got = reader_next_chunk(r), err;
	struct wire_field f;

	if (got <= 0)
		return got;
	got = wire_next(&r->chunk.body, &f);
	if (got <= 0 || f.field != MESSAGE_HEADER || f.type != WIRE_BYTES)
		return chunk_damaged(&r->chunk, "the header is missing");
	err = recording_take_header(&r->in, f.body);
	if (err == -EBADMSG)
		return chunk_damaged(&r->chunk, r->in.why);
	return err ? chunk_no_memory(&r->chunk) : 0;
}

int recording_reader_new(FILE *in, const char *name, struct recording_reader **reader)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return log_errno(ENOMEM, "%s", name);
	r->chunk.in = in;
	r->chunk.name = name;
	r->in.table = frame_table_new();
	err = r->in.table ? chunk_read_prefix(&r->chunk) : chunk_no_memory(&r->chunk);
	if (!err)
		err = reader_take_header(r);
	if (err) {
		recording_reader_free(r);
		return err;
	}
	*reader = r;
	return 0;
}

void recording_reader_free(struct recording_reader *r)
{
	if (!r)
		return;
	read_targets_free(&r->targets);
	read_survey_free(&r->survey);
	recording_in_free(&r->in);
	chunk_reader_free(&r->chunk);
	free(r);
}

const struct recording_info *recording_reader_info(const struct recording_reader *r)
{
	return &r->in.header.info;
}

uint64_t recording_reader_beginning(const struct recording_reader *r)
{
	return r->beginning_ns;
}

/* 1 and *item: the next one of the chunk; 0: its end; -errno, logged. */
static int reader_next_of_chunk(struct recording_reader *r, struct recording_item *item)
{
	struct wire_field f;
	int got;

	while ((got = wire_next(&r->chunk.body, &f)) > 0) {
		r->unfinished = true;
		r->in.why = "a message of the chunk cannot be read";
		got = reader_take(r, &f, item);
		if (got == -ENOMEM)
			return chunk_no_memory(&r->chunk);
		if (got < 0)
			return chunk_damaged(&r->chunk, r->in.why);
		if (got > 0)
			return got;
	}
	return got < 0 ? chunk_damaged(&r->chunk, "a message of the chunk cannot be read") : 0;
}

int recording_reader_next(struct recording_reader *r, struct recording_item *item)
{
	int got = r->failed;

	*item = (struct recording_item){0};
	/* After damage nothing can be trusted. */
	if (got)
		return got;
	do {
		got = reader_next_of_chunk(r, item);
		if (got)
			break;
		got = reader_next_chunk(r);
	} while (got > 0);
	if (got < 0)
		r->failed = got;
	return got;
}

int recording_reader_next_snapshot(struct recording_reader *r, struct snapshot **out)
{
	struct recording_item item;
	int got;

	do {
		got = recording_reader_next(r, &item);
		inspection_free(item.inspection);
	} while (got > 0 && !item.snapshot);
	*out = item.snapshot;
	return got;
}
