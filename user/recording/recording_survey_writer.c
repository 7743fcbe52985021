// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_survey.h"
#include "user/recording/recording_writer.h"

/* Numbers of a trace are below it. */
#define FIRST_WINDOW 0x80000000u

/* As written last. */
struct recorded_process {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t texts; /* a hash of its names */
	uint64_t values[PROCESS_VALUES];
	uint64_t report;	   /* number of the last one that it was in */
	struct survey_drill drill; /* to compare with only: snapshot and stacks may be gone */
	uint64_t drill_time_ns;
	bool drilled;
};

struct recorded_survey {
	struct recorded_process *processes;
	size_t count, room;
	struct id_map by_pid; /* of the last report */
	uint32_t *order, *order_before;
	size_t order_count, order_before_count;
	uint64_t reports;
	uint32_t windows;
};

void recorded_survey_free(struct recorded_survey *v)
{
	if (!v)
		return;
	free(v->processes);
	free(v->order);
	free(v->order_before);
	id_map_free(&v->by_pid);
	free(v);
}

/* ---- processes ---------------------------------------------------------------------------- */

static void texts_of(const struct survey_row *row, const char *texts[PROCESS_TEXT_COUNT])
{
	texts[0] = row->cgroup;
	texts[1] = row->unit;
	texts[2] = row->container;
	texts[3] = row->runtime;
	texts[4] = row->pod;
}

static uint64_t hash_of(const struct survey_row *row)
{
	const char *texts[PROCESS_TEXT_COUNT];
	uint64_t hash = (uint64_t)row->process.ppid << 32 | row->process.uid;

	for (size_t i = 0; i < sizeof(row->process.comm); i++)
		hash = id_map_mix(hash + (unsigned char)row->process.comm[i]);
	texts_of(row, texts);
	for (size_t i = 0; i < PROCESS_TEXT_COUNT; i++) {
		for (const char *c = texts[i] ? texts[i] : ""; *c; c++)
			hash = id_map_mix(hash + (unsigned char)*c);
		hash = id_map_mix(hash + 1);
	}
	return hash;
}

static void put_process(struct recording_writer *w, uint32_t number, const struct survey_row *row,
			bool fresh)
{
	const struct process_sample *p = &row->process;
	size_t mark = wire_open(&w->chunk, CHUNK_PROCESS);
	const char *texts[PROCESS_TEXT_COUNT];

	wire_uint(&w->chunk, PROCESS_NUMBER, number);
	wire_uint(&w->chunk, PROCESS_PID, (uint64_t)p->pid);
	wire_uint(&w->chunk, PROCESS_PPID, (uint64_t)p->ppid);
	wire_uint(&w->chunk, PROCESS_UID, p->uid);
	wire_uint(&w->chunk, PROCESS_START, p->start_ticks);
	wire_bytes(&w->chunk, PROCESS_COMM, p->comm, strnlen(p->comm, sizeof(p->comm)));
	texts_of(row, texts);
	for (unsigned i = 0; i < PROCESS_TEXT_COUNT; i++) {
		if (texts[i])
			wire_string(&w->chunk, PROCESS_TEXTS + i, texts[i]);
	}
	if (fresh)
		wire_uint(&w->chunk, PROCESS_FRESH, 1);
	wire_close(&w->chunk, mark);
}

/* A number that no process of the last report and of this one has. */
static int new_number(struct recorded_survey *v, uint32_t *number)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->processes[i].report + 1 < v->reports) {
			*number = (uint32_t)i;
			return 0;
		}
	}
	if (!RESERVE_ITEM(v->processes, v->count, v->room, 64))
		return -ENOMEM;
	*number = (uint32_t)v->count++;
	return 0;
}

/* The number of a row's process, which is described if it is new or is called something else. */
static int number_of(struct recording_writer *w, const struct survey_row *row, uint32_t *number)
{
	struct recorded_survey *v = w->survey;
	const struct process_sample *p = &row->process;
	struct recorded_process *process;
	uint64_t texts = hash_of(row);
	bool fresh = false;
	int err;

	if (!id_map_get(&v->by_pid, (uint64_t)p->pid, number) ||
	    v->processes[*number].start_ticks != p->start_ticks ||
	    v->processes[*number].report == v->reports) {
		err = new_number(v, number);
		if (err)
			return err;
		v->processes[*number] =
			(struct recorded_process){.pid = p->pid, .start_ticks = p->start_ticks};
		fresh = true;
	}
	process = &v->processes[*number];
	process->report = v->reports;
	if (fresh || process->texts != texts)
		put_process(w, *number, row, fresh);
	process->texts = texts;
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

/*
 * Beyond 30 million years, a petabyte or what a reader takes for damage it does not matter by how
 * much.
 */
static uint64_t bits_of(double value)
{
	uint64_t bits;

	value = fmin(fmax(value, -PROCESS_MAX_DOUBLE), PROCESS_MAX_DOUBLE);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int values_of(struct recording_writer *w, const struct survey_row *row,
		     uint64_t v[PROCESS_VALUES])
{
	const struct trend *trend = &row->trend;
	uint32_t reason = 0;
	int err = trend->reason ? frame_table_string(w->table, trend->reason, &reason) : 0;

	v[PV_ANON] = row->process.anon;
	v[PV_SWAP] = row->process.swap;
	v[PV_SHMEM] = row->process.shmem;
	v[PV_THREADS] = row->process.threads;
	v[PV_SAMPLES] = row->samples;
	v[PV_CHILDREN_EXITED] = row->children_exited;
	v[PV_CHILDREN_PEAK] = row->children_peak;
	v[PV_LOW_THEN] = row->low_then;
	v[PV_LOW_NOW] = row->low_now;
	v[PV_FLAGS] = (unsigned)trend->kind | (trend->leaking ? PF_LEAKING : 0) |
		      (trend->growth_known ? PF_GROWTH_KNOWN : 0) |
		      (trend->error_known ? PF_ERROR_KNOWN : 0) |
		      (row->of_children ? PF_OF_CHILDREN : 0) | (row->ended ? PF_ENDED : 0) |
		      (row->limit_known ? PF_LIMIT_KNOWN : 0) |
		      (unsigned)row->spark_count << PF_SPARK_SHIFT;
	v[PV_REASON] = reason;
	v[PV_DOUBLES] = bits_of(trend->growth);
	v[PV_DOUBLES + 1] = bits_of(trend->growth_low);
	v[PV_DOUBLES + 2] = bits_of(trend->growth_high);
	v[PV_DOUBLES + 3] = bits_of(row->limit_s);
	for (size_t i = 0; i < SURVEY_SPARK; i++)
		v[PV_SPARK + i] = i < row->spark_count ? bits_of(row->spark[i]) : 0;
	return err;
}

static void put_changes(struct recording_writer *w, struct recorded_process *process,
			uint32_t number, const uint64_t now[PROCESS_VALUES])
{
	uint64_t mask = 0, expected[PROCESS_VALUES];

	for (int i = 0; i < PROCESS_VALUES; i++) {
		expected[i] = expected_process_value((enum process_value)i, process->values[i]);
		mask |= (uint64_t)(expected[i] != now[i]) << i;
	}
	memcpy(process->values, now, sizeof(process->values));
	if (!mask)
		return;
	wire_varint(&w->chunk, number);
	wire_varint(&w->chunk, mask);
	for (int i = 0; i < PROCESS_VALUES; i++) {
		if (mask & 1ull << i)
			wire_zigzag(&w->chunk, (int64_t)(now[i] - expected[i]));
	}
}

/* Everything that is named has to stand before the rows. */
static int put_rows(struct recording_writer *w, const struct survey_report *report)
{
	struct recorded_survey *v = w->survey;
	uint64_t now[PROCESS_VALUES];
	size_t mark;
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		err = number_of(w, &report->rows[i], &v->order[i]);
		if (!err)
			err = values_of(w, &report->rows[i], now);
	}
	err = err ? err : recording_put_definitions(w);
	if (err)
		return err;
	mark = wire_open(&w->chunk, CHUNK_SURVEY_ROWS);
	for (size_t i = 0; i < report->row_count && !err; i++) {
		err = values_of(w, &report->rows[i], now);
		put_changes(w, &v->processes[v->order[i]], v->order[i], now);
	}
	wire_close(&w->chunk, mark);
	id_map_free(&v->by_pid);
	for (size_t i = 0; i < report->row_count && !err; i++) {
		/* One that has ended may have its pid in another row. */
		if (!report->rows[i].ended)
			err = id_map_put(&v->by_pid, (uint64_t)report->rows[i].process.pid,
					 v->order[i]);
	}
	return err;
}

/* ---- what was drilled --------------------------------------------------------------------- */

static bool same_drill(const struct recorded_process *process, const struct survey_drill *drill)
{
	const struct survey_drill *old = &process->drill;

	return process->drilled && old->open == drill->open && old->grown == drill->grown &&
	       old->window_ns == drill->window_ns && old->note == drill->note &&
	       process->drill_time_ns == (drill->snapshot ? drill->snapshot->time_ns : 0);
}

static int put_window(struct recording_writer *w, const struct snapshot *snapshot)
{
	struct snapshot s = *snapshot;

	/* The numbers of traces begin anew with each of them. */
	s.target_id = FIRST_WINDOW + w->survey->windows++ % FIRST_WINDOW;
	s.window = true;
	return recording_writer_add(w, &s);
}

static int put_drill(struct recording_writer *w, uint32_t number, const struct survey_drill *drill)
{
	const struct snapshot *s = drill->snapshot;
	uint32_t note = 0;
	size_t mark, list;
	int err = drill->note ? frame_table_string(w->table, drill->note, &note) : 0;

	err = err ? err : recording_put_definitions(w);
	if (!err && s)
		err = put_window(w, s);
	if (err)
		return err;
	mark = wire_open(&w->chunk, CHUNK_DRILL);
	wire_uint(&w->chunk, DRILL_PROCESS, number);
	wire_uint(&w->chunk, DRILL_COUNTED, s != NULL);
	wire_uint(&w->chunk, DRILL_OPEN, drill->open);
	wire_sint(&w->chunk, DRILL_GROWN, drill->grown);
	wire_uint(&w->chunk, DRILL_WINDOW_NS, drill->window_ns);
	wire_uint(&w->chunk, DRILL_NOTE, note);
	list = wire_open(&w->chunk, DRILL_SHOWN);
	/* Of a new target the rows are in the order of its stacks. */
	for (size_t i = 0; s && i < drill->shown_count; i++)
		wire_varint(&w->chunk, (uint64_t)(drill->shown[i] - s->stacks));
	wire_close(&w->chunk, list);
	wire_close(&w->chunk, mark);
	return 0;
}

static int put_drills(struct recording_writer *w, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		struct recorded_process *process = &w->survey->processes[w->survey->order[i]];
		const struct survey_drill *drill = report->rows[i].drill;

		if (!drill || same_drill(process, drill))
			continue;
		err = put_drill(w, w->survey->order[i], drill);
		process->drill = *drill;
		process->drilled = true;
		process->drill_time_ns = drill->snapshot ? drill->snapshot->time_ns : 0;
	}
	return err;
}

/* ---- the report --------------------------------------------------------------------------- */

static void put_order(struct recording_writer *w)
{
	struct recorded_survey *v = w->survey;
	size_t mark;

	if (v->order_count == v->order_before_count &&
	    (!v->order_count ||
	     !memcmp(v->order, v->order_before, v->order_count * sizeof(*v->order))))
		return;
	mark = wire_open(&w->chunk, SURVEY_ORDER);
	for (size_t i = 0; i < v->order_count; i++)
		wire_varint(&w->chunk, v->order[i]);
	wire_close(&w->chunk, mark);
}

static void put_totals(struct recording_writer *w, const struct survey_totals *t)
{
	const uint64_t totals[] = {t->looks,	t->cpu_ns,   t->resident,  t->probe_hits,
				   t->probe_ns, t->left_out, t->exits_lost};
	size_t mark = wire_open(&w->chunk, SURVEY_TOTALS);

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		wire_varint(&w->chunk, totals[i]);
	wire_close(&w->chunk, mark);
	mark = wire_open(&w->chunk, SURVEY_LOST);
	for (size_t i = 0; i < LOST_CAUSES; i++)
		wire_varint(&w->chunk, t->lost[i]);
	wire_close(&w->chunk, mark);
}

static void put_report(struct recording_writer *w, const struct survey_report *r)
{
	size_t mark = wire_open(&w->chunk, CHUNK_SURVEY);

	wire_uint(&w->chunk, SURVEY_TIME_NS, r->time_ns);
	wire_uint(&w->chunk, SURVEY_ELAPSED_NS, r->elapsed_ns);
	wire_uint(&w->chunk, SURVEY_FLAGS,
		  (r->final ? SURVEY_FINAL : 0) | (r->tool_known ? SURVEY_TOOL_KNOWN : 0));
	wire_string(&w->chunk, SURVEY_SOURCE, r->source);
	wire_uint(&w->chunk, SURVEY_PROCESS_COUNT, r->process_count);
	wire_uint(&w->chunk, SURVEY_GROWING_COUNT, r->growing_count);
	wire_uint(&w->chunk, SURVEY_WATCHED_COUNT, r->watched_count);
	wire_double(&w->chunk, SURVEY_TOOL_SHARE, r->tool_share);
	wire_double(&w->chunk, SURVEY_PROBE_SHARE, r->probe_share);
	wire_double(&w->chunk, SURVEY_BUDGET_SHARE, r->budget_share);
	wire_uint(&w->chunk, SURVEY_SAMPLE_BYTES, r->sample_bytes);
	put_totals(w, &r->totals);
	put_order(w);
	wire_close(&w->chunk, mark);
}

/* Room for the order of this report; the last one's is what it is compared with. */
static int prepare(struct recording_writer *w, size_t rows)
{
	struct recorded_survey *v = w->survey;
	uint32_t *order;

	if (!v) {
		v = w->survey = calloc(1, sizeof(*v));
		if (!v)
			return -ENOMEM;
	}
	order = calloc(rows ? rows : 1, sizeof(*order));
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

int recording_writer_add_survey(struct recording_writer *w, const struct survey_report *report)
{
	int err = w->error;

	if (err)
		return err;
	err = prepare(w, report->row_count);
	err = err ? err : put_rows(w, report);
	err = err ? err : put_drills(w, report);
	if (err)
		return w->error = err;
	put_report(w, report);
	return recording_flush(w);
}
