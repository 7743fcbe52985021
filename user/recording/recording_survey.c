// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_survey.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"

/* Numbers of a trace are below it. */
#define FIRST_WINDOW 0x80000000u

enum drill_field {
	DRILL_PROCESS = 1,
	DRILL_COUNTED = 2, /* 1: the window's snapshot stands before */
	DRILL_OPEN = 3,
	DRILL_GROWN = 4,
	DRILL_WINDOW_NS = 5,
	DRILL_NOTE = 6,
	DRILL_SHOWN = 7, /* rows of the snapshot, the best first */
};

enum survey_field {
	SURVEY_TIME_NS = 1,
	SURVEY_ELAPSED_NS = 2,
	SURVEY_FLAGS = 3, /* 1 final, 2 tool_share is known */
	SURVEY_SOURCE = 4,
	SURVEY_PROCESS_COUNT = 5,
	SURVEY_GROWING_COUNT = 6,
	SURVEY_WATCHED_COUNT = 7,
	SURVEY_TOOL_SHARE = 8, /* doubles */
	SURVEY_PROBE_SHARE = 9,
	SURVEY_BUDGET_SHARE = 10,
	SURVEY_SAMPLE_BYTES = 11,
	SURVEY_TOTALS = 12,
	SURVEY_LOST = 13,
	SURVEY_ORDER = 14, /* left out: as before */
	SURVEY_KEEP = 15,  /* left out: without --keep */
};
enum survey_flag { SURVEY_FINAL = 1u << 0, SURVEY_TOOL_KNOWN = 1u << 1 };

enum keep_field {
	KEEP_SAMPLED = 1,
	KEEP_LEFT_OUT = 2,
	KEEP_SAMPLES = 3,
	KEEP_SAMPLES_PER_S = 4, /* double */
	KEEP_LIVE_SAMPLES = 5,
	KEEP_SAMPLE_BYTES = 6,
	KEEP_RATE = 7,
	KEEP_GUARDS = 8, /* 1: --guard */
	KEEP_GUARDED = 9,
	KEEP_NOT_GUARDED = 10,
};

/* The packed numbers of SURVEY_TOTALS, in the order in which they are stored. */
static const size_t survey_totals[] = {
	offsetof(struct survey_totals, looks),	    offsetof(struct survey_totals, cpu_ns),
	offsetof(struct survey_totals, resident),   offsetof(struct survey_totals, probe_hits),
	offsetof(struct survey_totals, probe_ns),   offsetof(struct survey_totals, left_out),
	offsetof(struct survey_totals, exits_lost),
};

static const struct wire_number survey_numbers[] = {
	WIRE_NUMBER(SURVEY_TIME_NS, struct survey_report, time_ns),
	WIRE_NUMBER(SURVEY_ELAPSED_NS, struct survey_report, elapsed_ns),
	WIRE_NUMBER(SURVEY_PROCESS_COUNT, struct survey_report, process_count),
	WIRE_NUMBER(SURVEY_GROWING_COUNT, struct survey_report, growing_count),
	WIRE_NUMBER(SURVEY_WATCHED_COUNT, struct survey_report, watched_count),
	WIRE_NUMBER(SURVEY_SAMPLE_BYTES, struct survey_report, sample_bytes),
	{0},
};

static const struct wire_number keep_numbers[] = {
	WIRE_NUMBER_IF_ANY(KEEP_SAMPLED, struct survey_keep_report, sampled),
	WIRE_NUMBER_IF_ANY(KEEP_LEFT_OUT, struct survey_keep_report, left_out),
	WIRE_NUMBER_IF_ANY(KEEP_SAMPLES, struct survey_keep_report, samples),
	WIRE_NUMBER_IF_ANY(KEEP_LIVE_SAMPLES, struct survey_keep_report, live_samples),
	WIRE_NUMBER_IF_ANY(KEEP_SAMPLE_BYTES, struct survey_keep_report, sample_bytes),
	WIRE_NUMBER_IF_ANY(KEEP_RATE, struct survey_keep_report, rate),
	WIRE_NUMBER_IF_ANY(KEEP_GUARDED, struct survey_keep_report, guarded),
	WIRE_NUMBER_IF_ANY(KEEP_NOT_GUARDED, struct survey_keep_report, not_guarded),
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

static void survey_put_drill(struct wire *to, uint32_t number, const struct survey_drill *drill,
			     uint32_t note)
{
	const struct snapshot *s = drill->snapshot;
	size_t mark = wire_open(to, MESSAGE_DRILL), list;

	wire_uint(to, DRILL_PROCESS, number);
	wire_uint(to, DRILL_COUNTED, s != NULL);
	wire_uint(to, DRILL_OPEN, drill->open);
	wire_sint(to, DRILL_GROWN, drill->grown);
	wire_uint(to, DRILL_WINDOW_NS, drill->window_ns);
	wire_uint(to, DRILL_NOTE, note);
	list = wire_open(to, DRILL_SHOWN);
	/* Of a new target the rows are in the order of its stacks. */
	for (size_t i = 0; s && i < drill->shown_count; i++)
		wire_varint(to, (uint64_t)(drill->shown[i] - s->stacks));
	wire_close(to, list);
	wire_close(to, mark);
}

static int survey_put_drills(struct recording_out *out, struct written_targets *targets,
			     struct written_survey *v, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		struct written_process *process = &v->processes.items[v->order[i]];
		const struct survey_drill *drill = report->rows[i].drill;
		uint32_t note = 0;

		if (!drill || survey_same_drill(process, drill))
			continue;
		err = drill->note ? frame_table_string(out->table, drill->note, &note) : 0;
		err = err ? err : recording_put_names(out);
		if (!err && drill->report)
			err = survey_put_window(out, targets, v, drill->report);
		if (!err)
			survey_put_drill(&out->chunk.body, v->order[i], drill, note);
		process->drill = *drill;
		process->drilled = true;
		process->drill_time_ns = drill->snapshot ? drill->snapshot->time_ns : 0;
	}
	return err;
}

static void survey_put_order(struct wire *to, const struct written_survey *v)
{
	size_t mark;

	if (v->order_count == v->order_before_count &&
	    (!v->order_count ||
	     !memcmp(v->order, v->order_before, v->order_count * sizeof(*v->order))))
		return;
	mark = wire_open(to, SURVEY_ORDER);
	for (size_t i = 0; i < v->order_count; i++)
		wire_varint(to, v->order[i]);
	wire_close(to, mark);
}

static void survey_put_totals(struct wire *to, const struct survey_totals *t)
{
	size_t mark = wire_open(to, SURVEY_TOTALS);

	for (size_t i = 0; i < ARRAY_SIZE(survey_totals); i++)
		wire_varint(to, *(const uint64_t *)((const char *)t + survey_totals[i]));
	wire_close(to, mark);
	recording_put_lost(to, SURVEY_LOST, t->lost);
}

static void survey_put_keep(struct wire *to, const struct survey_keep_report *keep)
{
	size_t mark = wire_open(to, SURVEY_KEEP);

	wire_put_numbers(to, keep_numbers, KEEP_SAMPLED, KEEP_NOT_GUARDED, keep);
	wire_double(to, KEEP_SAMPLES_PER_S, keep->samples_per_s);
	wire_uint(to, KEEP_GUARDS, keep->guards);
	wire_close(to, mark);
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

static void survey_put_report(struct wire *to, const struct written_survey *v,
			      const struct survey_report *r)
{
	size_t mark = wire_open(to, MESSAGE_SURVEY);

	wire_put_numbers(to, survey_numbers, SURVEY_TIME_NS, SURVEY_ELAPSED_NS, r);
	wire_uint(to, SURVEY_FLAGS,
		  (r->final ? SURVEY_FINAL : 0) | (r->tool_known ? SURVEY_TOOL_KNOWN : 0));
	wire_string(to, SURVEY_SOURCE, r->source);
	wire_put_numbers(to, survey_numbers, SURVEY_PROCESS_COUNT, SURVEY_WATCHED_COUNT, r);
	wire_double(to, SURVEY_TOOL_SHARE, r->tool_share);
	wire_double(to, SURVEY_PROBE_SHARE, r->probe_share);
	wire_double(to, SURVEY_BUDGET_SHARE, r->budget_share);
	wire_put_numbers(to, survey_numbers, SURVEY_SAMPLE_BYTES, UINT_MAX, r);
	survey_put_totals(to, &r->totals);
	survey_put_order(to, v);
	if (r->keep)
		survey_put_keep(to, r->keep);
	wire_close(to, mark);
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
	int err = survey_begin_report(v, report->row_count);

	err = err ? err : recording_put_processes(out, &v->processes, report, v->reports, v->order);
	err = err ? err : survey_put_kept(out, v, report);
	err = err ? err : survey_put_drills(out, targets, v, report);
	if (!err)
		survey_put_report(&out->chunk.body, v, report);
	return err;
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

static int survey_take_shown(struct recording_in *in, struct survey_drill *drill,
			     struct wire_reader body)
{
	size_t most = drill->snapshot ? drill->snapshot->stack_count : 0;
	const struct stack **shown = calloc(most + 1, sizeof(struct stack *));

	free((void *)drill->shown);
	drill->shown = shown;
	drill->shown_count = 0;
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
	struct read_process *p = NULL;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == DRILL_PROCESS && f.type == WIRE_VARINT) {
			p = read_process_find(&v->processes, f.number);
			if (p)
				read_process_forget_drill(p);
			continue;
		}
		if (!p)
			return recording_refuse(in, "a drill of a process that is not there");
		p->drilled = true;
		if (f.field == DRILL_SHOWN && f.type == WIRE_BYTES)
			err = survey_take_shown(in, &p->drill, f.body);
		if (f.type != WIRE_VARINT)
			continue;
		if (f.field == DRILL_COUNTED && f.number && !p->drill.snapshot) {
			err = survey_take_window(v, &p->drill);
		} else if (f.field == DRILL_OPEN) {
			p->drill.open = f.number != 0;
		} else if (f.field == DRILL_GROWN) {
			p->drill.grown = (int64_t)(f.number >> 1) ^ -(int64_t)(f.number & 1);
		} else if (f.field == DRILL_WINDOW_NS) {
			p->drill.window_ns = f.number;
		} else if (f.field == DRILL_NOTE &&
			   !recording_string(in, f.number, &p->drill.note, NULL)) {
			err = recording_refuse(in, "a string that is not there");
		}
	}
	return err ? err : got < 0 || !p ? recording_refuse(in, "a drill cannot be read") : 0;
}

/* Of the process that the message's first field names; NULL: none is there. */
static struct read_kept *survey_kept_of(const struct read_survey *v, struct wire_reader message)
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
	struct read_kept *kept = survey_kept_of(v, message);

	return kept ? recording_take_kept(in, kept, message)
		    : recording_refuse(in, "samples of a process that is not there");
}

int recording_take_survey_bad_access(struct recording_in *in, struct read_survey *v,
				     struct wire_reader message)
{
	struct read_kept *kept = survey_kept_of(v, message);

	return kept ? recording_take_kept_bad_access(in, kept, message)
		    : recording_refuse(in, "a bad access of a process that is not there");
}

static int survey_take_order(struct recording_in *in, struct read_survey *v,
			     struct wire_reader body)
{
	/* Every number has a byte at least. */
	uint32_t *order = calloc(wire_left(&body) + 1, sizeof(*order));
	size_t count = 0;

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

static int survey_take_totals(struct recording_in *in, struct survey_totals *t,
			      struct wire_reader body)
{
	for (size_t i = 0; wire_left(&body); i++) {
		uint64_t value;

		if (wire_read_varint(&body, &value))
			return recording_refuse(in, "totals cannot be read");
		if (i < ARRAY_SIZE(survey_totals))
			*(uint64_t *)((char *)t + survey_totals[i]) = value;
	}
	return 0;
}

/* The bits of a share of a CPU, or of a rate. */
static double survey_share_of(uint64_t bits)
{
	double share;

	memcpy(&share, &bits, sizeof(share));
	return isfinite(share) && share >= 0 ? share : 0;
}

static int survey_take_keep(struct recording_in *in, struct survey_keep_report *keep,
			    struct wire_reader body)
{
	struct wire_field f;
	int got;

	*keep = (struct survey_keep_report){0};
	while ((got = wire_next(&body, &f)) > 0) {
		if (f.field == KEEP_SAMPLES_PER_S && f.type == WIRE_FIXED64)
			keep->samples_per_s = survey_share_of(f.number);
		else if (f.field == KEEP_GUARDS && f.type == WIRE_VARINT)
			keep->guards = f.number != 0;
		else
			wire_take_number(keep_numbers, &f, keep);
	}
	return got < 0 ? recording_refuse(in, "what is kept cannot be read") : 0;
}

static void survey_take_number(struct survey_report *out, const struct wire_field *f)
{
	switch (f->field) {
	case SURVEY_FLAGS:
		out->final = f->number & SURVEY_FINAL;
		out->tool_known = f->number & SURVEY_TOOL_KNOWN;
		break;
	case SURVEY_TOOL_SHARE:
		out->tool_share = survey_share_of(f->number);
		break;
	case SURVEY_PROBE_SHARE:
		out->probe_share = survey_share_of(f->number);
		break;
	case SURVEY_BUDGET_SHARE:
		out->budget_share = survey_share_of(f->number);
		break;
	default:
		wire_take_number(survey_numbers, f, out);
		break;
	}
}

static int survey_take_report(struct recording_in *in, struct read_survey *v,
			      struct wire_reader message)
{
	struct survey_report *out = &v->report;
	struct wire_field f;
	int got, err = 0;

	*out = (struct survey_report){.source = "proc"};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type != WIRE_BYTES)
			survey_take_number(out, &f);
		else if (f.field == SURVEY_SOURCE && wire_left(&f.body) == 3 &&
			 !memcmp(f.body.at, "bpf", 3))
			out->source = "bpf";
		else if (f.field == SURVEY_TOTALS)
			err = survey_take_totals(in, &out->totals, f.body);
		else if (f.field == SURVEY_LOST)
			err = recording_take_lost(&in->header, f.body, out->totals.lost)
				      ? recording_refuse(in, "losses cannot be read")
				      : 0;
		else if (f.field == SURVEY_ORDER)
			err = survey_take_order(in, v, f.body);
		else if (f.field == SURVEY_KEEP) {
			err = survey_take_keep(in, &v->keep, f.body);
			out->keep = &v->keep;
		}
	}
	return err ? err : got < 0 ? recording_refuse(in, "a report cannot be read") : 0;
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
	return 0;
}
