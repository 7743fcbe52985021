// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_survey.h"

struct recorded_process {
	uint64_t number; /* from 0; given again when its process is not in the report any more */
	struct process_sample sample;
	char *texts[PROCESS_TEXTS];
	bool fresh; /* nothing of the process is known so far: its values begin at 0 */
};

const struct field recording_process_fields[] = {
	FIELD_NUMBER(1, struct recorded_process, number),
	FIELD_PID(2, struct recorded_process, sample.pid),
	FIELD_PID(3, struct recorded_process, sample.ppid),
	FIELD_SMALL(4, struct recorded_process, sample.uid),
	FIELD_NUMBER(5, struct recorded_process, sample.start_ticks),
	FIELD_CHARS(6, struct recorded_process, sample.comm),
	FIELD_TEXT(7, struct recorded_process, texts[0]),
	FIELD_TEXT(8, struct recorded_process, texts[1]),
	FIELD_TEXT(9, struct recorded_process, texts[2]),
	FIELD_TEXT(10, struct recorded_process, texts[3]),
	FIELD_TEXT(11, struct recorded_process, texts[4]),
	FIELD_TEXT(13, struct recorded_process, texts[5]),
	FIELD_SMALL_IF_ANY(12, struct recorded_process, fresh),
	{0},
};

/*
 * No double is further from zero (bytes, bytes a second, seconds): times 3,600 it still is an
 * integer.
 */
#define PROCESS_MAX_DOUBLE 1e15

/* PV_FLAGS: the trend's kind, then these, then how many values the sparkline has. */
enum process_flag {
	PF_KIND = 0xf,
	PF_LEAKING = 1u << 4,
	PF_GROWTH_KNOWN = 1u << 5,
	PF_ERROR_KNOWN = 1u << 6,
	PF_OF_CHILDREN = 1u << 7,
	PF_ENDED = 1u << 8,
	PF_LIMIT_KNOWN = 1u << 9,
	PF_SPARK_SHIFT = 12,
};

static uint64_t process_expected_value(enum process_value value, uint64_t old)
{
	return value == PV_SAMPLES ? old + 1 : old;
}

/* ---- writing ------------------------------------------------------------------------------ */

void written_processes_free(struct written_processes *list)
{
	for (size_t i = 0; i < list->count; i++)
		recorded_kept_free(&list->items[i].kept);
	free(list->items);
	id_map_free(&list->by_pid);
}

static void process_texts_of(const struct survey_row *row, char *texts[PROCESS_TEXTS])
{
	texts[0] = (char *)row->cgroup;
	texts[1] = (char *)row->unit;
	texts[2] = (char *)row->container;
	texts[3] = (char *)row->runtime;
	texts[4] = (char *)row->pod;
	texts[5] = (char *)row->pod_name;
}

static uint64_t process_hash(const struct survey_row *row)
{
	char *texts[PROCESS_TEXTS];
	uint64_t hash = (uint64_t)row->process.ppid << 32 | row->process.uid;

	for (size_t i = 0; i < sizeof(row->process.comm); i++)
		hash = id_map_mix(hash + (unsigned char)row->process.comm[i]);
	process_texts_of(row, texts);
	for (size_t i = 0; i < PROCESS_TEXTS; i++) {
		for (const char *c = texts[i] ? texts[i] : ""; *c; c++)
			hash = id_map_mix(hash + (unsigned char)*c);
		hash = id_map_mix(hash + 1);
	}
	return hash;
}

/* A number that no process of the last report and of this one has. */
static int process_new_number(struct written_processes *list, uint64_t report, uint32_t *number)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].report + 1 < report) {
			*number = (uint32_t)i;
			return 0;
		}
	}
	if (!RESERVE_ITEM(list->items, list->count, list->room, 64))
		return -ENOMEM;
	*number = (uint32_t)list->count++;
	list->items[*number] = (struct written_process){0};
	return 0;
}

/* The number of a row's process, which is described if it is new or is called something else. */
static int process_number(struct recording_out *out, struct written_processes *list,
			  const struct survey_row *row, uint64_t report, uint32_t *number)
{
	const struct process_sample *p = &row->process;
	struct written_process *process;
	uint64_t texts = process_hash(row);
	struct recorded_process recorded;
	bool fresh = false;
	int err;

	if (!id_map_get(&list->by_pid, (uint64_t)p->pid, number) ||
	    list->items[*number].start_ticks != p->start_ticks ||
	    list->items[*number].report == report) {
		err = process_new_number(list, report, number);
		if (err)
			return err;
		recorded_kept_free(&list->items[*number].kept);
		list->items[*number] =
			(struct written_process){.pid = p->pid, .start_ticks = p->start_ticks};
		fresh = true;
	}
	process = &list->items[*number];
	process->report = report;
	recorded = (struct recorded_process){.number = *number, .sample = *p, .fresh = fresh};
	process_texts_of(row, recorded.texts);
	if (!fresh && process->texts == texts)
		return 0;
	process->texts = texts;
	return fields_put_part(out, MESSAGE_PROCESS, recording_process_fields, &recorded);
}

/*
 * Beyond 30 million years, a petabyte or what a reader takes for damage it does not matter by how
 * much.
 */
static uint64_t process_double_bits(double value)
{
	uint64_t bits;

	value = fmin(fmax(value, -PROCESS_MAX_DOUBLE), PROCESS_MAX_DOUBLE);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int process_values_of(struct recording_out *out, const struct survey_row *row,
			     uint64_t v[PROCESS_VALUES])
{
	const struct trend *trend = &row->trend;
	uint32_t reason = 0;
	int err = trend->reason ? frame_table_string(out->table, trend->reason, &reason) : 0;

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
	v[PV_DOUBLES] = process_double_bits(trend->growth);
	v[PV_DOUBLES + 1] = process_double_bits(trend->growth_low);
	v[PV_DOUBLES + 2] = process_double_bits(trend->growth_high);
	v[PV_DOUBLES + 3] = process_double_bits(row->limit_s);
	for (size_t i = 0; i < SURVEY_SPARK; i++)
		v[PV_SPARK + i] = i < row->spark_count ? process_double_bits(row->spark[i]) : 0;
	return err;
}

static void process_put_changes(struct wire *to, struct written_process *process, uint32_t number,
				const uint64_t now[PROCESS_VALUES])
{
	uint64_t mask = 0, expected[PROCESS_VALUES];

	for (int i = 0; i < PROCESS_VALUES; i++) {
		expected[i] = process_expected_value((enum process_value)i, process->values[i]);
		mask |= (uint64_t)(expected[i] != now[i]) << i;
	}
	memcpy(process->values, now, sizeof(process->values));
	if (!mask)
		return;
	wire_varint(to, number);
	wire_varint(to, mask);
	for (int i = 0; i < PROCESS_VALUES; i++) {
		if (mask & 1ull << i)
			wire_zigzag(to, (int64_t)(now[i] - expected[i]));
	}
}

/* Not among the values: older programs would take these for damaged, and pass over a message. */
static void process_put_rss(struct wire *to, struct written_processes *list,
			    const struct survey_report *report, const uint32_t *numbers)
{
	size_t mark = 0;
	bool any = false;

	for (size_t i = 0; i < report->row_count; i++) {
		struct written_process *process = &list->items[numbers[i]];
		uint64_t rss = report->rows[i].process.rss;

		if (rss == process->rss)
			continue;
		if (!any)
			mark = wire_open(to, MESSAGE_PROCESS_RSS);
		any = true;
		wire_varint(to, numbers[i]);
		wire_zigzag(to, (int64_t)(rss - process->rss));
		process->rss = rss;
	}
	if (any)
		wire_close(to, mark);
}

static void process_put_growths(struct wire *to, struct written_processes *list,
				const struct survey_report *report, const uint32_t *numbers)
{
	size_t mark = 0;
	bool any = false;

	for (size_t i = 0; i < report->row_count; i++) {
		struct recorded_growth *last = &list->items[numbers[i]].growth;
		uint64_t changes = recording_growth_changes(last, &report->rows[i]);

		if (!changes)
			continue;
		if (!any)
			mark = wire_open(to, MESSAGE_PROCESS_GROWTH);
		any = true;
		wire_varint(to, numbers[i]);
		recording_put_growth(to, last, &report->rows[i], changes);
	}
	if (any)
		wire_close(to, mark);
}

/* Everything that is named has to stand before the values. */
int recording_put_processes(struct recording_out *out, struct written_processes *list,
			    const struct survey_report *report, uint64_t number, uint32_t *numbers)
{
	struct wire *to = &out->chunk.body;
	uint64_t now[PROCESS_VALUES];
	size_t mark;
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		err = process_number(out, list, &report->rows[i], number, &numbers[i]);
		if (!err)
			err = process_values_of(out, &report->rows[i], now);
	}
	err = err ? err : recording_put_names(out);
	if (err)
		return err;
	mark = wire_open(to, MESSAGE_PROCESS_VALUES);
	for (size_t i = 0; i < report->row_count && !err; i++) {
		err = process_values_of(out, &report->rows[i], now);
		process_put_changes(to, &list->items[numbers[i]], numbers[i], now);
	}
	wire_close(to, mark);
	process_put_rss(to, list, report, numbers);
	process_put_growths(to, list, report, numbers);
	id_map_free(&list->by_pid);
	for (size_t i = 0; i < report->row_count && !err; i++) {
		/* One that has ended may have its pid in another row. */
		if (!report->rows[i].ended)
			err = id_map_put(&list->by_pid, (uint64_t)report->rows[i].process.pid,
					 numbers[i]);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

void read_process_forget_drill(struct read_process *p)
{
	free((void *)p->drill.shown);
	report_free(p->drill.report);
	p->drill = (struct survey_drill){0};
	p->drilled = false;
}

static void read_process_free(struct read_process *p)
{
	for (size_t i = 0; i < PROCESS_TEXTS; i++)
		free(p->texts[i]);
	memset(p->texts, 0, sizeof(p->texts));
	read_process_forget_drill(p);
	recorded_kept_free(&p->kept);
}

void read_processes_free(struct read_processes *list)
{
	for (size_t i = 0; i < list->count; i++)
		read_process_free(&list->items[i]);
	free(list->items);
}

struct read_process *read_process_find(const struct read_processes *list, uint64_t number)
{
	return number < list->count ? &list->items[number] : NULL;
}

static int read_process_get(struct read_processes *list, uint64_t number, struct read_process **out)
{
	struct read_process *grown;

	if (number == list->count) {
		grown = reallocarray(list->items, list->count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->items = grown;
		grown[list->count++] = (struct read_process){0};
	}
	*out = &list->items[number];
	return 0;
}

int recording_take_process(struct recording_in *in, struct read_survey *v,
			   struct wire_reader message)
{
	struct recorded_process r = {.number = UINT64_MAX};
	struct read_process *p = NULL;
	int err =
		fields_take(in, recording_process_fields, message, &r, "a process cannot be read");

	if (!err && (r.number > v->processes.count || r.number >= PROCESSES_MAX))
		err = recording_refuse(in, "a process's number is impossible");
	err = err ? err : read_process_get(&v->processes, r.number, &p);
	for (size_t i = 0; i < PROCESS_TEXTS; i++) {
		free(p ? p->texts[i] : r.texts[i]);
		if (p)
			p->texts[i] = r.texts[i];
	}
	if (err)
		return err;
	/* The number of one that has gone is given again. */
	if (r.fresh) {
		memset(p->values, 0, sizeof(p->values));
		p->rss = 0;
		p->growth = (struct recorded_growth){0};
		read_process_forget_drill(p);
		recorded_kept_free(&p->kept);
	}
	p->sample = r.sample;
	p->described = true;
	return 0;
}

static double process_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int process_take_values(struct recording_in *in, struct read_process *p,
			       const uint64_t now[PROCESS_VALUES])
{
	if ((now[PV_FLAGS] & PF_KIND) >= TREND_KINDS ||
	    now[PV_FLAGS] >> PF_SPARK_SHIFT > SURVEY_SPARK)
		return recording_refuse(in, "a process's state is impossible");
	for (int i = PV_DOUBLES; i < PROCESS_VALUES; i++) {
		/* Also no number at all. */
		if (!(fabs(process_double(now[i])) <= PROCESS_MAX_DOUBLE))
			return recording_refuse(in, "a process's growth is impossible");
	}
	if (process_double(now[PV_DOUBLES + 3]) < 0)
		return recording_refuse(in, "a process's time to the limit is impossible");
	if (!recording_string(in, now[PV_REASON], &p->reason, NULL))
		return recording_refuse(in, "a string that is not there");
	memcpy(p->values, now, sizeof(p->values));
	p->touched = true;
	return 0;
}

int recording_take_process_values(struct recording_in *in, struct read_survey *v,
				  struct wire_reader body)
{
	while (wire_left(&body)) {
		uint64_t number, mask, now[PROCESS_VALUES];
		struct read_process *p;
		int err;

		if (wire_read_varint(&body, &number) || wire_read_varint(&body, &mask))
			return recording_refuse(in, "a process's values cannot be read");
		p = read_process_find(&v->processes, number);
		if (!p || !p->described)
			return recording_refuse(in, "values of a process that is not there");
		for (int i = 0; i < PROCESS_VALUES; i++) {
			int64_t change = 0;

			if (mask & 1ull << i && wire_read_zigzag(&body, &change))
				return recording_refuse(in, "a process's values cannot be read");
			now[i] = process_expected_value((enum process_value)i, p->values[i]) +
				 (uint64_t)change;
		}
		err = process_take_values(in, p, now);
		if (err)
			return err;
	}
	return 0;
}

int recording_take_process_rss(struct recording_in *in, struct read_survey *v,
			       struct wire_reader body)
{
	while (wire_left(&body)) {
		struct read_process *p;
		uint64_t number;
		int64_t change;

		if (wire_read_varint(&body, &number) || wire_read_zigzag(&body, &change))
			return recording_refuse(in, "a process's resident set cannot be read");
		p = read_process_find(&v->processes, number);
		if (!p || !p->described)
			return recording_refuse(in,
						"a resident set of a process that is not there");
		p->rss += (uint64_t)change;
	}
	return 0;
}

int recording_take_process_growth(struct recording_in *in, struct read_survey *v,
				  struct wire_reader body)
{
	while (wire_left(&body)) {
		struct read_process *p;
		uint64_t number;
		int err;

		if (wire_read_varint(&body, &number))
			return recording_refuse(in, "a process's growth cannot be read");
		p = read_process_find(&v->processes, number);
		if (!p || !p->described)
			return recording_refuse(in, "a growth of a process that is not there");
		err = recording_take_growth(in, &body, &p->growth);
		if (err)
			return err;
	}
	return 0;
}

void recording_fill_process(struct read_process *p, struct survey_row *row)
{
	const uint64_t *v = p->values;
	uint64_t flags = v[PV_FLAGS];

	if (!p->touched)
		p->values[PV_SAMPLES]++;
	p->touched = true;
	*row = (struct survey_row){
		.process = p->sample,
		.trend = {.kind = (enum trend_kind)(flags & PF_KIND),
			  .leaking = flags & PF_LEAKING,
			  .growth_known = flags & PF_GROWTH_KNOWN,
			  .error_known = flags & PF_ERROR_KNOWN,
			  .growth = process_double(v[PV_DOUBLES]),
			  .growth_low = process_double(v[PV_DOUBLES + 1]),
			  .growth_high = process_double(v[PV_DOUBLES + 2]),
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
		.pod_name = p->texts[5],
		.spark_count = flags >> PF_SPARK_SHIFT,
		.limit_known = flags & PF_LIMIT_KNOWN,
		.limit_s = process_double(v[PV_DOUBLES + 3]),
		.drill = p->drilled ? &p->drill : NULL,
	};
	row->process.anon = v[PV_ANON];
	row->process.swap = v[PV_SWAP];
	row->process.shmem = v[PV_SHMEM];
	row->process.rss = p->rss;
	recording_fill_growth(&p->growth, row);
	row->process.threads = (unsigned)v[PV_THREADS];
	for (size_t i = 0; i < row->spark_count; i++)
		row->spark[i] = process_double(v[PV_SPARK + i]);
}
