// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_missing.h"

/* Numbers of a trace are below it. */
#define FIRST_WINDOW 0x80000000u

/* The packed numbers of the totals, in the order in which they are stored. */
static const size_t survey_totals[] = {
	offsetof(struct survey_totals, looks),	    offsetof(struct survey_totals, cpu_ns),
	offsetof(struct survey_totals, resident),   offsetof(struct survey_totals, probe_hits),
	offsetof(struct survey_totals, probe_ns),   offsetof(struct survey_totals, left_out),
	offsetof(struct survey_totals, exits_lost),
};

struct recorded_drill {
	uint64_t process, counted, open; /* counted: the window's snapshot stands before */
	int64_t grown;
	uint64_t window_ns;
	const char *note;
	const struct survey_drill *drill; /* writer */
	struct wire_reader shown;	  /* reader: rows of the snapshot, the best first */
};

FIELD_OWN_FUNCTIONS(drill_shown);

const struct field recording_drill_fields[] = {
	FIELD_NUMBER(1, struct recorded_drill, process),
	FIELD_NUMBER(2, struct recorded_drill, counted),
	FIELD_NUMBER(3, struct recorded_drill, open),
	FIELD_SIGNED(4, struct recorded_drill, grown),
	FIELD_NUMBER(5, struct recorded_drill, window_ns),
	FIELD_STRING_ALWAYS(6, struct recorded_drill, note),
	FIELD_OWN(7, drill_shown),
	{0},
};

static const struct field keep_fields[] = {
	FIELD_IF_ANY(1, struct survey_keep_report, sampled),
	FIELD_IF_ANY(2, struct survey_keep_report, left_out),
	FIELD_IF_ANY(3, struct survey_keep_report, samples),
	FIELD_IF_ANY(5, struct survey_keep_report, live_samples),
	FIELD_IF_ANY(6, struct survey_keep_report, sample_bytes),
	FIELD_IF_ANY(7, struct survey_keep_report, rate),
	FIELD_IF_ANY(9, struct survey_keep_report, guarded),
	FIELD_IF_ANY(10, struct survey_keep_report, not_guarded),
	FIELD_DOUBLE(4, struct survey_keep_report, samples_per_s),
	FIELD_SMALL(8, struct survey_keep_report, guards),
	{0},
};

/* A report, and what its functions need. */
struct recorded_survey {
	struct survey_report r;
	const struct written_survey *written;
	struct read_survey *read;
};

FIELD_OWN_FUNCTIONS(survey_source);
FIELD_OWN_FUNCTIONS(survey_totals);
FIELD_OWN_FUNCTIONS(survey_order);
FIELD_OWN_FUNCTIONS(survey_keep);

const struct field recording_survey_fields[] = {
	FIELD_NUMBER(1, struct recorded_survey, r.time_ns),
	FIELD_NUMBER(2, struct recorded_survey, r.elapsed_ns),
	FIELD_FLAG(3, 0, struct recorded_survey, r.final),
	FIELD_FLAG(3, 1, struct recorded_survey, r.tool_known),
	FIELD_OWN(4, survey_source),
	FIELD_NUMBER(5, struct recorded_survey, r.process_count),
	FIELD_NUMBER(6, struct recorded_survey, r.growing_count),
	FIELD_NUMBER(7, struct recorded_survey, r.watched_count),
	FIELD_DOUBLE(8, struct recorded_survey, r.tool_share),
	FIELD_DOUBLE(9, struct recorded_survey, r.probe_share),
	FIELD_DOUBLE(10, struct recorded_survey, r.budget_share),
	FIELD_NUMBER(11, struct recorded_survey, r.sample_bytes),
	FIELD_OWN(12, survey_totals),
	FIELD_LOST(13, struct recorded_survey, r.totals.lost),
	FIELD_OWN(14, survey_order),		       /* left out: as before */
	FIELD_OWN_PARTS(15, survey_keep, keep_fields), /* left out: without --keep */
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

void written_survey_free(struct written_survey *v)
{
	written_processes_free(&v->processes);
	free(v->order);
	free(v->order_before);
}

static bool survey_same_drill(const struct written_process *process,
			      const struct survey_drill *drill)
{
	const struct survey_drill *old = &process->drill;

	return process->drilled && old->open == drill->open && old->grown == drill->grown &&
	       old->window_ns == drill->window_ns && old->note == drill->note &&
	       process->drill_time_ns == (drill->snapshot ? drill->snapshot->time_ns : 0);
}

static int survey_put_window(struct recording_out *out, struct written_targets *targets,
			     struct written_survey *v, const struct report *report)
{
	struct snapshot s = *report->snapshot;
	struct report renumbered = *report;
	int err;

	/* The numbers of traces begin anew with each of them. */
	s.target_id = FIRST_WINDOW + v->windows++ % FIRST_WINDOW;
	s.window = true;
	renumbered.snapshot = &s;
	err = recording_put_snapshot(out, targets, &renumbered);
	return err ? err : chunk_flush(&out->chunk);
}

static int put_drill_shown(struct recording_out *out, unsigned number, const void *from)
{
	const struct survey_drill *drill = ((const struct recorded_drill *)from)->drill;
	struct wire *to = &out->chunk.body;
	size_t list = wire_open(to, number);

	/* Of a new target the rows are in the order of its stacks. */
	for (size_t i = 0; drill->snapshot && i < drill->shown_count; i++)
		wire_varint(to, (uint64_t)(drill->shown[i] - drill->snapshot->stacks));
	wire_close(to, list);
	return 0;
}

static int survey_put_drills(struct recording_out *out, struct written_targets *targets,
			     struct written_survey *v, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		struct written_process *process = &v->processes.items[v->order[i]];
		const struct survey_drill *drill = report->rows[i].drill;
		struct recorded_drill recorded;

		if (!drill || survey_same_drill(process, drill))
			continue;
		recorded = (struct recorded_drill){.process = v->order[i],
						   .counted = drill->snapshot != NULL,
						   .open = drill->open,
						   .grown = drill->grown,
						   .window_ns = drill->window_ns,
						   .note = drill->note,
						   .drill = drill};
		err = fields_name(out, recording_drill_fields, &recorded);
		if (!err && drill->report)
			err = survey_put_window(out, targets, v, drill->report);
		err = err ? err
			  : recording_put_message(out, MESSAGE_DRILL, recording_drill_fields,
						  &recorded);
		process->drill = *drill;
		process->drilled = true;
		process->drill_time_ns = drill->snapshot ? drill->snapshot->time_ns : 0;
	}
	return err;
}

static int put_survey_source(struct recording_out *out, unsigned number, const void *from)
{
	wire_string(&out->chunk.body, number, ((const struct recorded_survey *)from)->r.source);
	return 0;
}

static int put_survey_totals(struct recording_out *out, unsigned number, const void *from)
{
	const void *totals = &((const struct recorded_survey *)from)->r.totals;
	size_t mark = wire_open(&out->chunk.body, number);

	for (size_t i = 0; i < ARRAY_SIZE(survey_totals); i++)
		wire_varint(&out->chunk.body,
			    *(const uint64_t *)((const char *)totals + survey_totals[i]));
	wire_close(&out->chunk.body, mark);
	return 0;
}

static int put_survey_order(struct recording_out *out, unsigned number, const void *from)
{
	const struct written_survey *v = ((const struct recorded_survey *)from)->written;
	size_t mark;

	if (v->order_count == v->order_before_count &&
	    (!v->order_count ||
	     !memcmp(v->order, v->order_before, v->order_count * sizeof(*v->order))))
		return 0;
	mark = wire_open(&out->chunk.body, number);
	for (size_t i = 0; i < v->order_count; i++)
		wire_varint(&out->chunk.body, v->order[i]);
	wire_close(&out->chunk.body, mark);
	return 0;
}

static int put_survey_keep(struct recording_out *out, unsigned number, const void *from)
{
	const struct survey_keep_report *keep = ((const struct recorded_survey *)from)->r.keep;

	return keep ? fields_put_part(out, number, keep_fields, keep) : 0;
}

static int survey_put_kept(struct recording_out *out, struct written_survey *v,
			   const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++)
		err = recording_put_kept(out, v->order[i], &v->processes.items[v->order[i]].kept,
					 report->rows[i].kept);
	return err;
}

/* Room for the order of this report; the last one's is what it is compared with. */
static int survey_begin_report(struct written_survey *v, size_t rows)
{
	uint32_t *order = calloc(rows ? rows : 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	free(v->order_before);
	v->order_before = v->order;
	v->order_before_count = v->order_count;
	v->order = order;
	v->order_count = rows;
	/* From 2: what has never been in a report was last in number 0. */
	v->reports += v->reports ? 1 : 2;
	return 0;
}

int recording_put_survey(struct recording_out *out, struct written_targets *targets,
			 struct written_survey *v, const struct survey_report *report)
{
	const struct recorded_survey recorded = {.r = *report, .written = v};
	int err = survey_begin_report(v, report->row_count);

	err = err ? err : recording_put_missing(out, &report->missing);
	err = err ? err : recording_put_processes(out, &v->processes, report, v->reports, v->order);
	err = err ? err : survey_put_kept(out, v, report);
	err = err ? err : survey_put_drills(out, targets, v, report);
	return err ? err : fields_put_part(out, MESSAGE_SURVEY, recording_survey_fields, &recorded);
}

/* ---- reading ------------------------------------------------------------------------------ */

void read_survey_free(struct read_survey *v)
{
	read_processes_free(&v->processes);
	snapshot_free(v->window);
	free(v->order);
	free(v->rows);
}

/* A drill has the window that stands before it, if there is one. */
static int survey_take_window(struct read_survey *v, struct survey_drill *drill)
{
	struct snapshot *window = TAKE_PTR(v->window);

	if (!window)
		return 0;
	drill->report = report_new(window);
	if (!drill->report)
		return -ENOMEM;
	drill->snapshot = window;
	return 0;
}

static int take_drill_shown(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	if (f->type == WIRE_BYTES)
		((struct recorded_drill *)to)->shown = f->body;
	return 0;
}

static int survey_take_shown(struct recording_in *in, struct survey_drill *drill,
			     struct wire_reader body)
{
	size_t most = drill->snapshot ? drill->snapshot->stack_count : 0;
	const struct stack **shown = calloc(most + 1, sizeof(struct stack *));

	drill->shown = shown;
	if (!shown)
		return -ENOMEM;
	while (wire_left(&body)) {
		uint64_t row;

		if (wire_read_varint(&body, &row) || row >= most || drill->shown_count >= most)
			return recording_refuse(in, "a stack that is not there");
		shown[drill->shown_count++] = &drill->snapshot->stacks[row];
	}
	return 0;
}

int recording_take_drill(struct recording_in *in, struct read_survey *v, struct wire_reader message)
{
	struct recorded_drill r = {.process = UINT64_MAX};
	struct read_process *p;
	int err = fields_take(in, recording_drill_fields, message, &r, "a drill cannot be read");

	if (err)
		return err;
	p = read_process_find(&v->processes, r.process);
	if (!p)
		return recording_refuse(in, "a drill of a process that is not there");
	read_process_forget_drill(p);
	p->drilled = true;
	p->drill.open = r.open;
	p->drill.grown = r.grown;
	p->drill.window_ns = r.window_ns;
	p->drill.note = r.note;
	err = r.counted ? survey_take_window(v, &p->drill) : 0;
	return err ? err : survey_take_shown(in, &p->drill, r.shown);
}

/* Of the process that the message's first field names; NULL: none is there. */
static struct recorded_kept *survey_kept_of(const struct read_survey *v, struct wire_reader message)
{
	struct read_process *p = NULL;
	struct wire_field f;

	if (wire_next(&message, &f) > 0 && f.field == MESSAGE_FIELD_TARGET && f.type == WIRE_VARINT)
		p = read_process_find(&v->processes, f.number);
	return p && p->described ? &p->kept : NULL;
}

int recording_take_survey_kept(struct recording_in *in, struct read_survey *v,
			       struct wire_reader message)
{
	struct recorded_kept *kept = survey_kept_of(v, message);

	return kept ? recording_take_kept(in, kept, message)
		    : recording_refuse(in, "samples of a process that is not there");
}

int recording_take_survey_bad_access(struct recording_in *in, struct read_survey *v,
				     struct wire_reader message)
{
	struct recorded_kept *kept = survey_kept_of(v, message);

	return kept ? recording_take_kept_bad_access(in, kept, message)
		    : recording_refuse(in, "a bad access of a process that is not there");
}

/* Anything else is none that is known here, and "proc" says less. */
static int take_survey_source(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	if (f->type == WIRE_BYTES && wire_left(&f->body) == 3 && !memcmp(f->body.at, "bpf", 3))
		((struct recorded_survey *)to)->r.source = "bpf";
	return 0;
}

static int take_survey_totals(struct recording_in *in, const struct wire_field *f, void *to)
{
	void *totals = &((struct recorded_survey *)to)->r.totals;
	struct wire_reader body = f->body;

	for (size_t i = 0; f->type == WIRE_BYTES && wire_left(&body); i++) {
		uint64_t value;

		if (wire_read_varint(&body, &value))
			return recording_refuse(in, "totals cannot be read");
		if (i < ARRAY_SIZE(survey_totals))
			*(uint64_t *)((char *)totals + survey_totals[i]) = value;
	}
	return 0;
}

static int take_survey_order(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct read_survey *v = ((struct recorded_survey *)to)->read;
	struct wire_reader body = f->body;
	uint32_t *order;
	size_t count = 0;

	if (f->type != WIRE_BYTES)
		return 0;
	/* Every number has a byte at least. */
	order = calloc(wire_left(&body) + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	free(v->order);
	v->order = order;
	v->order_count = 0;
	while (wire_left(&body)) {
		uint64_t number;

		if (wire_read_varint(&body, &number) || number >= v->processes.count ||
		    count > PROCESSES_MAX)
			return recording_refuse(in, "a row of a process that is not there");
		order[count++] = (uint32_t)number;
	}
	v->order_count = count;
	return 0;
}

/* Any bits may stand in the file. */
static double survey_share(double share)
{
	return isfinite(share) && share >= 0 ? share : 0;
}

static int take_survey_keep(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_survey *r = to;
	struct survey_keep_report *keep = &r->read->keep;
	int err;

	if (f->type != WIRE_BYTES)
		return 0;
	*keep = (struct survey_keep_report){0};
	err = fields_take(in, keep_fields, f->body, keep, "what is kept cannot be read");
	keep->samples_per_s = survey_share(keep->samples_per_s);
	r->r.keep = keep;
	return err;
}

static int survey_take_report(struct recording_in *in, struct read_survey *v,
			      struct wire_reader message)
{
	struct recorded_survey recorded = {.r = {.source = "proc"}, .read = v};
	int err = fields_take(in, recording_survey_fields, message, &recorded,
			      "a report cannot be read");

	recorded.r.tool_share = survey_share(recorded.r.tool_share);
	recorded.r.probe_share = survey_share(recorded.r.probe_share);
	recorded.r.budget_share = survey_share(recorded.r.budget_share);
	v->report = recorded.r;
	return err;
}

int recording_take_survey(struct recording_in *in, struct read_survey *v,
			  struct wire_reader message)
{
	struct survey_row *rows;
	int err = survey_take_report(in, v, message);

	if (err)
		return err;
	rows = reallocarray(v->rows, v->order_count + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	v->rows = rows;
	for (size_t i = 0; i < v->order_count && !err; i++) {
		struct read_process *p = &v->processes.items[v->order[i]];

		recording_fill_process(p, &rows[i]);
		err = recording_fill_kept(in, &p->kept, &rows[i].kept);
	}
	if (err)
		return err;
	for (size_t i = 0; i < v->order_count; i++)
		v->processes.items[v->order[i]].touched = false;
	v->report.rows = rows;
	v->report.row_count = v->order_count;
	v->report.missing = in->missing;
	return 0;
}
