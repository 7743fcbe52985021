// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Surveys in recordings: what is read is what was written, whatever comes and goes between two
 * reports.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/export/export.h"
#include "user/recording/recording.h"

#define REPORTS 40
#define ROWS	6

struct file {
	char *data;
	size_t len;
};

/* A report and all that it points to. */
struct made {
	struct survey_report report;
	struct survey_row rows[ROWS];
	struct survey_drill drill;
	struct snapshot snapshot;
	struct stack stacks[SAMPLE_STACKS];
	struct report window;
	struct stack_notes notes[SAMPLE_STACKS];
	const struct stack *shown[2];
	struct survey_keep_report keep;
	struct survey_kept kept[ROWS];
	struct misuse bad[3];
};

static void make_window(struct made *m)
{
	/* Of a window, all that is live came in it. */
	memcpy(m->stacks, sample_stacks, sizeof(sample_stacks));
	for (size_t i = 0; i < SAMPLE_STACKS; i++) {
		m->notes[i].delta_bytes = (int64_t)m->stacks[i].live.bytes;
		m->notes[i].delta_count = (int64_t)m->stacks[i].live.count;
		m->notes[i].frames = m->stacks[i].frames;
		m->notes[i].frame_count = m->stacks[i].frame_count;
	}
	m->snapshot.stacks = m->stacks;
	m->window = (struct report){.snapshot = &m->snapshot, .notes = m->notes};
}

/* Some come, are counted, change places, get their names later, and go. */
static void make_bad(unsigned n, struct made *m, struct survey_kept *kept)
{
	size_t count = n < 12 ? 0 : n < 30 ? 1 + n % 3 : 2;

	for (unsigned i = 0; i < ARRAY_SIZE(m->bad); i++) {
		const struct stack *stack = &m->stacks[i % SAMPLE_STACKS];

		m->bad[i] = (struct misuse){
			.finder = MISUSE_BY_GUARD,
			.kind = i ? MISUSE_OVERFLOW : MISUSE_USE_AFTER_FREE,
			.mode = ACCESS_READ,
			.count = 1 + n / 4 + i,
			.address = 0x10000 * (i + 1ULL) + 100 - 90 * i,
			.block = 0x10000 * (i + 1ULL),
			.size = 96,
			.thread = 7,
			.comm = "worker",
			.value = -1,
			.calls = {[MISUSE_CALL_ALLOC] = {.known = true, .stack_id = 5},
				  [MISUSE_CALL_NOW] = {.known = true,
						       .stack_id = stack->id,
						       .frames = n > 13 ? stack->frames : NULL,
						       .frame_count =
							       n > 13 ? stack->frame_count : 0}},
		};
	}
	misuses_sort(m->bad, count);
	kept->bad_accesses = m->bad;
	kept->bad_access_count = count;
	kept->bad_accesses_left_out = n / 13;
	kept->guards.bad_accesses[MISUSE_USE_AFTER_FREE] = n;
}

static void make_keep(unsigned n, struct made *m)
{
	m->keep = (struct survey_keep_report){
		.sampled = n,
		.samples = 10 * n,
		.samples_per_s = 0.5 * n,
		.rate = 1000,
		.guards = n > 3,
		.guarded = n > 3,
	};
	if (n)
		m->report.keep = &m->keep;
}

/* One is guarded, one sampled only, one cannot be, one is kept for a while. */
static void make_kept(unsigned n, struct made *m, unsigned who, struct survey_row *row)
{
	struct survey_kept *kept = &m->kept[who];

	if (row->ended || who > 3 || (who == 3 && (n < 5 || n > 25)))
		return;
	*kept = (struct survey_kept){
		.sampled = who != 2,
		.reason = who != 2 ? NULL
			  : n < 20 ? "its turn comes"
				   : "it cannot be traced",
	};
	row->kept = kept;
	if (!kept->sampled)
		return;
	kept->since_ns = n * 1000000000ULL;
	kept->live_bytes = n % 7 * 4096;
	kept->error_bytes = 1.5 * n;
	kept->samples = n;
	kept->live_samples = n % 7;
	kept->guards.state = (struct guard_state){
		.asked = who == 1,
		.on = who == 1 && n < 35,
		.reason = who == 1 && n >= 35 ? "its memory is locked" : NULL,
		.period = who == 1 ? 1000 : 0,
		.guarded = who == 1 ? 5ULL * n : 0,
		.no_use_after_free = who == 1 && n > 37,
	};
	if (who == 1)
		make_bad(n, m, kept);
}

/*
 * Report number n: processes swap places, rename themselves, end; one pid comes again as another
 * process; two windows of probes.
 */
static void make_report(unsigned n, struct made *m)
{
	static const char *const units[] = {"a.service", NULL, "b.service"};
	static const char *const pods[] = {NULL, "shop/web-0"};

	*m = (struct made){.snapshot = sample_snapshot()};
	m->report = (struct survey_report){
		.time_ns = 1767323045000000000ULL + n * 1000000000ULL,
		.elapsed_ns = n * 1000000000ULL,
		.final = n == REPORTS - 1,
		.source = n % 2 ? "bpf" : "proc",
		.process_count = ROWS,
		.growing_count = n % 3,
		.watched_count = n % 2,
		.tool_known = n > 2,
		.tool_share = 0.001 * n,
		.probe_share = 0.01,
		.budget_share = 0.02,
		.sample_bytes = 65536,
		.rows = m->rows,
		.row_count = ROWS - n % 2,
		.totals = {.looks = n, .cpu_ns = 5 * n, .left_out = 1, .lost = {[LOST_FRAMES] = n}},
	};
	make_window(m);
	make_keep(n, m);
	for (unsigned i = 0; i < m->report.row_count; i++) {
		unsigned who = (i + n / 4) % ROWS;
		struct survey_row *row = &m->rows[i];

		*row = (struct survey_row){
			.process = {.pid = (pid_t)(100 + who),
				    .ppid = 1,
				    .start_ticks = 7 + n / 20,
				    .uid = 1000,
				    .threads = 1 + who,
				    .anon = (1 + who) * 1000000ULL + n * who,
				    .rss = who == 1 ? 0 : (3 + who) * 1000000ULL - n / 3 * who,
				    .swap = who == 2 ? n : 0},
			.trend = {.kind = (enum trend_kind)((n / 5 + who) % TREND_KINDS),
				  .growth_known = who % 2,
				  .growth = 1.5 * n - 7,
				  .reason = who % 2 ? "grew" : NULL},
			.ended = who == 5 && n % 20 == 19,
			.samples = n % 20 + 1,
			.low_then = who,
			.low_now = 5 * n,
			.unit = units[(who + n / 10) % ARRAY_SIZE(units)],
			.cgroup = "/",
			.container = who == 4 ? "web" : NULL,
			.pod = who == 4 ? "p0d" : NULL,
			.pod_name = who == 4 ? pods[n / 20] : NULL,
			.spark = {1, 2.25, n},
			.spark_count = 3,
			.limit_known = who == 1,
			.limit_s = who == 1 ? 1000.0 / (n + 1) : 0,
		};
		snprintf(row->process.comm, sizeof(row->process.comm), "p%u-%u", who, n / 15);
		make_kept(n, m, who, row);
		if (who != 3 || n < 10)
			continue;
		m->drill = (struct survey_drill){.open = n % 2,
						 .grown = -5 + (int64_t)(n / 10),
						 .window_ns = 5000000000,
						 .note = "it grew"};
		if (n >= 20) {
			m->snapshot.time_ns = n / 10;
			m->snapshot.target_id = 1;
			m->shown[0] = &m->snapshot.stacks[1];
			m->shown[1] = &m->snapshot.stacks[0];
			m->drill.report = &m->window;
			m->drill.snapshot = &m->snapshot;
			m->drill.shown = m->shown;
			m->drill.shown_count = 2;
		}
		row->drill = &m->drill;
	}
}

static void write_file(struct file *f)
{
	static const struct recording_info info = {.tool_version = "1"};
	FILE *out = open_memstream(&f->data, &f->len);
	struct recording_writer *writer;
	struct made m;

	assert_int_equal(recording_writer_new(out, &info, &writer), 0);
	for (unsigned i = 0; i < REPORTS; i++) {
		make_report(i, &m);
		assert_int_equal(recording_writer_add_survey(writer, &m.report), 0);
	}
	recording_writer_free(writer);
	fclose(out);
}

/* As JSON, which has all that is known; and the sparklines, which it has not. */
static char *printed(const struct survey_report *report)
{
	static const char *const names[] = {"json", "text"};
	static const struct export_options options;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct exporter_format *format = export_find_format(names[i]);
		struct exporter *e = format->open(out, &options);

		assert_int_equal(format->survey(e, report), 0);
		assert_int_equal(format->close(e), 0);
	}
	fclose(out);
	return text;
}

static void round_trip(void **state)
{
	struct recording_reader *reader;
	struct recording_item item;
	struct file f;
	struct made m;
	FILE *in;

	(void)state;
	write_file(&f);
	in = fmemopen(f.data, f.len, "r");
	assert_int_equal(recording_reader_new(in, "memory", &reader), 0);
	for (unsigned i = 0; i < REPORTS; i++) {
		_cleanup_free_ char *is = NULL, *was = NULL;

		make_report(i, &m);
		assert_int_equal(recording_reader_next(reader, &item), 1);
		assert_null(item.snapshot);
		assert_non_null(item.survey);
		assert_int_equal(item.time_ns, item.survey->time_ns);
		assert_int_equal(item.survey->totals.lost[LOST_FRAMES], i);
		is = printed(item.survey);
		was = printed(&m.report);
		assert_string_equal(is, was);
	}
	assert_int_equal(recording_reader_next(reader, &item), 0);
	recording_reader_free(reader);
	fclose(in);
	free(f.data);
}

/* A name as long as there is room for it would end somewhere behind it. */
static void long_name(void **state)
{
	static const struct recording_info info = {.tool_version = "1"};
	struct survey_row row = {.process = {.pid = 7, .anon = 0x4141414141414141}};
	struct survey_report report = {.time_ns = 1, .source = "bpf", .rows = &row, .row_count = 1};
	struct recording_reader *reader;
	struct recording_writer *writer;
	struct recording_item item;
	struct file f;
	FILE *out = open_memstream(&f.data, &f.len), *in;

	(void)state;
	memset(row.process.comm, 'x', sizeof(row.process.comm));
	assert_int_equal(recording_writer_new(out, &info, &writer), 0);
	assert_int_equal(recording_writer_add_survey(writer, &report), 0);
	recording_writer_free(writer);
	fclose(out);
	in = fmemopen(f.data, f.len, "r");
	assert_int_equal(recording_reader_new(in, "memory", &reader), 0);
	assert_int_equal(recording_reader_next(reader, &item), 1);
	assert_int_equal(item.survey->row_count, 1);
	assert_true(memchr(item.survey->rows[0].process.comm, '\0', sizeof(row.process.comm)));
	recording_reader_free(reader);
	fclose(in);
	free(f.data);
}

/* Who wants snapshots of processes only, passes reports by. */
static void no_snapshots(void **state)
{
	struct recording_reader *reader;
	struct snapshot *s;
	struct file f;
	FILE *in;

	(void)state;
	write_file(&f);
	in = fmemopen(f.data, f.len, "r");
	assert_int_equal(recording_reader_new(in, "memory", &reader), 0);
	assert_int_equal(recording_reader_next_snapshot(reader, &s), 0);
	recording_reader_free(reader);
	fclose(in);
	free(f.data);
}

/*
 * A file that ends anywhere has the reports before; one with a wrong byte is refused or says the
 * same.
 */
static void cut_and_damaged(void **state)
{
	struct file f;

	(void)state;
	write_file(&f);
	for (size_t len = 12; len < f.len; len += 97) {
		struct recording_reader *reader;
		struct recording_item item;
		FILE *in = fmemopen(f.data, len, "r");
		int got;

		assert_int_equal(recording_reader_new(in, "memory", &reader), 0);
		while ((got = recording_reader_next(reader, &item)) > 0)
			assert_non_null(item.survey);
		assert_int_equal(got, 0);
		recording_reader_free(reader);
		fclose(in);
		f.data[len] ^= 0x20;
		in = fmemopen(f.data, f.len, "r");
		if (!recording_reader_new(in, "memory", &reader)) {
			while ((got = recording_reader_next(reader, &item)) > 0)
				;
			assert_true(got == 0 || got == -EBADMSG);
			recording_reader_free(reader);
		}
		fclose(in);
		f.data[len] ^= 0x20;
	}
	free(f.data);
}

/* An unchanged process costs nothing: the size of a long survey is that of what moves. */
static void small(void **state)
{
	static const struct recording_info info = {.tool_version = "1"};
	struct survey_row rows[100] = {0};
	struct survey_report report = {
		.rows = rows, .row_count = ARRAY_SIZE(rows), .source = "bpf"};
	struct recording_writer *writer;
	struct file f;
	FILE *out = open_memstream(&f.data, &f.len);
	size_t first = 0;

	(void)state;
	assert_int_equal(recording_writer_new(out, &info, &writer), 0);
	for (unsigned n = 0; n < 100; n++) {
		report.time_ns = report.elapsed_ns = (n + 1) * 1000000000ULL;
		for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
			rows[i].process.pid = (pid_t)i + 1;
			rows[i].samples = n + 1;
			rows[i].process.anon = 1000000 + (i < 10 ? n * 4096ULL : 0);
		}
		assert_int_equal(recording_writer_add_survey(writer, &report), 0);
		first = first ? first : f.len;
	}
	recording_writer_free(writer);
	fclose(out);
	assert_in_range((f.len - first) / 99, 50, 200);
	free(f.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	cmocka_unit_test(long_name),
		cmocka_unit_test(no_snapshots), cmocka_unit_test(cut_and_damaged),
		cmocka_unit_test(small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
