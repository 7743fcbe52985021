// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A survey's reports from what a recording has said so far. Every number is checked: a recording
 * may come from anywhere.
 */
#include "user/recording/recording_survey.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/recording/recording_state.h"

#define MAX_PROCESSES (1u << 16) /* at a time; four times what a survey follows */

struct process_reading {
	bool described, touched; /* touched: in the rows of the report being read */
	struct process_sample sample;
	char *texts[PROCESS_TEXT_COUNT]; /* NULL: none */
	uint64_t values[PROCESS_VALUES];
	const char *reason;
	bool drilled;
	struct survey_drill drill;
};

struct survey_reading {
	struct process_reading *processes;
	size_t count;
	uint32_t *order;
	size_t order_count;
	struct survey_row *rows;
	struct survey_report report;
};

static void drill_release(struct process_reading *p)
{
	free((void *)p->drill.shown);
	snapshot_free(p->drill.snapshot);
	p->drill = (struct survey_drill){0};
	p->drilled = false;
}

static void process_release(struct process_reading *p)
{
	for (size_t i = 0; i < PROCESS_TEXT_COUNT; i++)
		free(p->texts[i]);
	memset(p->texts, 0, sizeof(p->texts));
	drill_release(p);
}

void survey_reading_free(struct survey_reading *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->count; i++)
		process_release(&v->processes[i]);
	free(v->processes);
	free(v->order);
	free(v->rows);
	free(v);
}

static struct process_reading *find_process(const struct recording_reader *r, uint64_t number)
{
	return r->survey && number < r->survey->count ? &r->survey->processes[number] : NULL;
}

/* ---- processes ---------------------------------------------------------------------------- */

static int add_process(struct recording_reader *r, uint64_t number, struct process_reading **out)
{
	struct survey_reading *v = r->survey;
	struct process_reading *grown;

	if (!v) {
		v = r->survey = calloc(1, sizeof(*v));
		if (!v)
			return -ENOMEM;
	}
	if (number == v->count) {
		grown = reallocarray(v->processes, v->count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		v->processes = grown;
		grown[v->count++] = (struct process_reading){0};
	}
	*out = &v->processes[number];
	return 0;
}

static int take_text(char **to, const struct wire_field *f)
{
	char *text = strndup((const char *)f->body.at, wire_left(&f->body));

	free(*to);
	*to = text;
	return text ? 0 : -ENOMEM;
}

static int fill_process(struct process_reading *p, struct wire_reader message,
			struct process_sample *sample, bool *fresh)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES) {
			if (f.field == PROCESS_COMM && wire_left(&f.body) <= sizeof(sample->comm) &&
			    wire_left(&f.body))
				memcpy(sample->comm, f.body.at, wire_left(&f.body));
			else if (f.field >= PROCESS_TEXTS &&
				 f.field < PROCESS_TEXTS + PROCESS_TEXT_COUNT)
				err = take_text(&p->texts[f.field - PROCESS_TEXTS], &f);
		} else if (f.field == PROCESS_PID && f.number <= INT32_MAX) {
			sample->pid = (pid_t)f.number;
		} else if (f.field == PROCESS_PPID && f.number <= INT32_MAX) {
			sample->ppid = (pid_t)f.number;
		} else if (f.field == PROCESS_UID) {
			sample->uid = (uid_t)f.number;
		} else if (f.field == PROCESS_START) {
			sample->start_ticks = f.number;
		} else if (f.field == PROCESS_FRESH) {
			*fresh = f.number != 0;
		}
	}
	return err ? err : got;
}

int recording_take_process(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct wire_reader all = message;
	struct process_sample sample = {0};
	struct process_reading *p;
	bool fresh = false;
	struct wire_field f;
	int err;

	if (wire_next(&message, &f) <= 0 || f.field != PROCESS_NUMBER || f.type != WIRE_VARINT ||
	    f.number > (r->survey ? r->survey->count : 0) || f.number >= MAX_PROCESSES)
		return recording_refuse(why, "a process's number is impossible");
	err = add_process(r, f.number, &p);
	if (err)
		return err;
	for (size_t i = 0; i < PROCESS_TEXT_COUNT; i++) {
		free(p->texts[i]);
		p->texts[i] = NULL;
	}
	err = fill_process(p, all, &sample, &fresh);
	if (err == -ENOMEM)
		return err;
	if (err < 0)
		return recording_refuse(why, "a process cannot be read");
	/* The number of one that has gone is given again. */
	if (fresh) {
		memset(p->values, 0, sizeof(p->values));
		drill_release(p);
	}
	p->sample = sample;
	p->described = true;
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int check_values(const struct recording_reader *r, struct process_reading *p,
			const uint64_t now[PROCESS_VALUES], const char **why)
{
	if ((now[PV_FLAGS] & PF_KIND) >= TREND_KINDS ||
	    now[PV_FLAGS] >> PF_SPARK_SHIFT > SURVEY_SPARK)
		return recording_refuse(why, "a process's state is impossible");
	for (int i = PV_DOUBLES; i < PROCESS_VALUES; i++) {
		/* Also no number at all. */
		if (!(fabs(double_of(now[i])) <= PROCESS_MAX_DOUBLE))
			return recording_refuse(why, "a process's growth is impossible");
	}
	if (double_of(now[PV_DOUBLES + 3]) < 0)
		return recording_refuse(why, "a process's time to the limit is impossible");
	if (!recording_string(r, now[PV_REASON], &p->reason))
		return recording_refuse(why, "a string that is not there");
	memcpy(p->values, now, sizeof(p->values));
	p->touched = true;
	return 0;
}

int recording_take_survey_rows(struct recording_reader *r, struct wire_reader body,
			       const char **why)
{
	while (wire_left(&body)) {
		uint64_t number, mask, now[PROCESS_VALUES];
		struct process_reading *p;
		int err;

		if (wire_read_varint(&body, &number) || wire_read_varint(&body, &mask))
			return recording_refuse(why, "a process's values cannot be read");
		p = find_process(r, number);
		if (!p || !p->described)
			return recording_refuse(why, "values of a process that is not there");
		for (int i = 0; i < PROCESS_VALUES; i++) {
			int64_t change = 0;

			if (mask & 1ull << i && wire_read_zigzag(&body, &change))
				return recording_refuse(why, "a process's values cannot be read");
			now[i] = expected_process_value((enum process_value)i, p->values[i]) +
				 (uint64_t)change;
		}
		err = check_values(r, p, now, why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- what was drilled --------------------------------------------------------------------- */

static int take_shown(struct survey_drill *drill, struct wire_reader body, const char **why)
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
			return recording_refuse(why, "a stack that is not there");
		shown[drill->shown_count++] = &drill->snapshot->stacks[row];
	}
	return 0;
}

int recording_take_drill(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct process_reading *p = NULL;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == DRILL_PROCESS && f.type == WIRE_VARINT) {
			p = find_process(r, f.number);
			if (p)
				drill_release(p);
			continue;
		}
		if (!p)
			return recording_refuse(why, "a drill of a process that is not there");
		p->drilled = true;
		if (f.field == DRILL_SHOWN && f.type == WIRE_BYTES)
			err = take_shown(&p->drill, f.body, why);
		if (f.type != WIRE_VARINT)
			continue;
		if (f.field == DRILL_COUNTED && f.number && !p->drill.snapshot) {
			p->drill.snapshot = r->window;
			r->window = NULL;
		} else if (f.field == DRILL_OPEN) {
			p->drill.open = f.number != 0;
		} else if (f.field == DRILL_GROWN) {
			p->drill.grown = (int64_t)(f.number >> 1) ^ -(int64_t)(f.number & 1);
		} else if (f.field == DRILL_WINDOW_NS) {
			p->drill.window_ns = f.number;
		} else if (f.field == DRILL_NOTE &&
			   !recording_string(r, f.number, &p->drill.note)) {
			err = recording_refuse(why, "a string that is not there");
		}
	}
	return err ? err : got < 0 || !p ? recording_refuse(why, "a drill cannot be read") : 0;
}

/* ---- the report --------------------------------------------------------------------------- */

static int take_order(struct survey_reading *v, struct wire_reader body, const char **why)
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

		if (wire_read_varint(&body, &number) || number >= v->count || count > MAX_PROCESSES)
			return recording_refuse(why, "a row of a process that is not there");
		order[count++] = (uint32_t)number;
	}
	v->order_count = count;
	return 0;
}

static int take_totals(struct survey_totals *t, struct wire_reader body, const char **why)
{
	uint64_t *const totals[] = {&t->looks,	  &t->cpu_ns,	&t->resident,  &t->probe_hits,
				    &t->probe_ns, &t->left_out, &t->exits_lost};

	for (size_t i = 0; wire_left(&body); i++) {
		uint64_t value;

		if (wire_read_varint(&body, &value))
			return recording_refuse(why, "totals cannot be read");
		if (i < sizeof(totals) / sizeof(totals[0]))
			*totals[i] = value;
	}
	return 0;
}

/* It was a share of a CPU. */
static double share_of(uint64_t bits)
{
	double share = double_of(bits);

	return isfinite(share) && share >= 0 ? share : 0;
}

static void take_number(struct survey_report *out, const struct wire_field *f)
{
	switch (f->field) {
	case SURVEY_TIME_NS:
		out->time_ns = f->number;
		break;
	case SURVEY_ELAPSED_NS:
		out->elapsed_ns = f->number;
		break;
	case SURVEY_FLAGS:
		out->final = f->number & SURVEY_FINAL;
		out->tool_known = f->number & SURVEY_TOOL_KNOWN;
		break;
	case SURVEY_PROCESS_COUNT:
		out->process_count = f->number;
		break;
	case SURVEY_GROWING_COUNT:
		out->growing_count = f->number;
		break;
	case SURVEY_WATCHED_COUNT:
		out->watched_count = f->number;
		break;
	case SURVEY_TOOL_SHARE:
		out->tool_share = share_of(f->number);
		break;
	case SURVEY_PROBE_SHARE:
		out->probe_share = share_of(f->number);
		break;
	case SURVEY_BUDGET_SHARE:
		out->budget_share = share_of(f->number);
		break;
	case SURVEY_SAMPLE_BYTES:
		out->sample_bytes = f->number;
		break;
	default:
		break;
	}
}

static int read_report(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct survey_report *out = &r->survey->report;
	struct wire_field f;
	int got, err = 0;

	*out = (struct survey_report){.source = "proc"};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type != WIRE_BYTES)
			take_number(out, &f);
		else if (f.field == SURVEY_SOURCE && wire_left(&f.body) == 3 &&
			 !memcmp(f.body.at, "bpf", 3))
			out->source = "bpf";
		else if (f.field == SURVEY_TOTALS)
			err = take_totals(&out->totals, f.body, why);
		else if (f.field == SURVEY_LOST)
			err = recording_take_lost(r, f.body, out->totals.lost, why);
		else if (f.field == SURVEY_ORDER)
			err = take_order(r->survey, f.body, why);
	}
	return err ? err : got < 0 ? recording_refuse(why, "a report cannot be read") : 0;
}

static void fill_row(struct survey_row *row, const struct process_reading *p)
{
	const uint64_t *v = p->values;
	uint64_t flags = v[PV_FLAGS];

	*row = (struct survey_row){
		.process = p->sample,
		.trend = {.kind = (enum trend_kind)(flags & PF_KIND),
			  .leaking = flags & PF_LEAKING,
			  .growth_known = flags & PF_GROWTH_KNOWN,
			  .error_known = flags & PF_ERROR_KNOWN,
			  .growth = double_of(v[PV_DOUBLES]),
			  .growth_low = double_of(v[PV_DOUBLES + 1]),
			  .growth_high = double_of(v[PV_DOUBLES + 2]),
			  .reason = p->reason},
		.of_children = flags & PF_OF_CHILDREN,
		.ended = flags & PF_ENDED,
		.samples = v[PV_SAMPLES],
		.children_exited = v[PV_CHILDREN_EXITED],
		.children_peak = v[PV_CHILDREN_PEAK],
		.low_then = v[PV_LOW_THEN],
		.low_now = v[PV_LOW_NOW],
		.cgroup = p->texts[0],
		.unit = p->texts[1],
		.container = p->texts[2],
		.runtime = p->texts[3],
		.pod = p->texts[4],
		.spark_count = flags >> PF_SPARK_SHIFT,
		.limit_known = flags & PF_LIMIT_KNOWN,
		.limit_s = double_of(v[PV_DOUBLES + 3]),
		.drill = p->drilled ? &p->drill : NULL,
	};
	row->process.anon = v[PV_ANON];
	row->process.swap = v[PV_SWAP];
	row->process.shmem = v[PV_SHMEM];
	row->process.threads = (unsigned)v[PV_THREADS];
	for (size_t i = 0; i < row->spark_count; i++)
		row->spark[i] = double_of(v[PV_SPARK + i]);
}

int recording_take_survey(struct recording_reader *r, struct wire_reader message,
			  const struct survey_report **out, const char **why)
{
	struct survey_reading *v = r->survey;
	struct survey_row *rows;
	int err;

	if (!v) {
		v = r->survey = calloc(1, sizeof(*v));
		if (!v)
			return -ENOMEM;
	}
	err = read_report(r, message, why);
	if (err)
		return err;
	rows = reallocarray(v->rows, v->order_count + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	v->rows = rows;
	for (size_t i = 0; i < v->order_count; i++) {
		struct process_reading *p = &v->processes[v->order[i]];

		if (!p->touched)
			p->values[PV_SAMPLES]++;
		p->touched = true;
		fill_row(&rows[i], p);
	}
	for (size_t i = 0; i < v->order_count; i++)
		v->processes[v->order[i]].touched = false;
	v->report.rows = rows;
	v->report.row_count = v->order_count;
	*out = &v->report;
	return 1;
}
