// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The last look of a survey's recording, as text: the ends that earlier looks had are told with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/survey/report_survey.h"

#define MIB (1024 * 1024ull)

struct reported {
	char path[32];
	struct show_config show;
	struct replay_config config;
	struct output *output;
	struct report_survey *survey;
	struct survey_kept kept;
	uint64_t looks;
};

static void begin(struct reported *r, bool verbose, bool brief)
{
	int fd;

	*r = (struct reported){.path = "/tmp/survey-XXXXXX"};
	fd = mkstemp(r->path);
	assert_true(fd >= 0);
	close(fd);
	r->config.show = (struct show_config){.format = export_find_format("text"),
					      .output = r->path,
					      .top = 10,
					      .brief = brief,
					      .verbose = verbose};
	assert_int_equal(output_open(&r->config.show, false, 0, false, false, &r->output), 0);
	assert_int_equal(report_survey_new(&r->config, r->output, NULL, true, &r->survey), 0);
}

static struct survey_row row_of(pid_t pid, const char *comm)
{
	struct survey_row row = {.process = {.pid = pid, .anon = MIB}, .samples = 9};

	snprintf(row.process.comm, sizeof(row.process.comm), "%s", comm);
	return row;
}

static struct survey_row grown(pid_t pid, const char *comm, bool leaking)
{
	struct survey_row row = row_of(pid, comm);

	row.trend = (struct trend){.kind = TREND_GROWING,
				   .leaking = leaking,
				   .growth_known = true,
				   .growth = 10.0 * MIB / 3600,
				   .reason = "grew"};
	return row;
}

/* One look a second, from 2026-01-02 03:04:05 on. */
static void look(struct reported *r, struct survey_row *rows, size_t count)
{
	const struct survey_report report = {.time_ns = (1767323045 + r->looks) * NS_PER_S,
					     .elapsed_ns = ++r->looks * NS_PER_S,
					     .source = "bpf",
					     .process_count = count,
					     .rows = rows,
					     .row_count = count};

	assert_int_equal(report_survey_take(r->survey, &report), 0);
}

static char *end(struct reported *r)
{
	static char text[1 << 18];
	FILE *file;
	size_t len;

	assert_int_equal(report_survey_finish(r->survey), 0);
	report_survey_free(r->survey);
	assert_int_equal(output_close(r->output), 0);
	file = fopen(r->path, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	unlink(r->path);
	return text;
}

static void each(void **state)
{
	struct survey_row rows[4] = {grown(11, "cache", true), row_of(12, "shop\033[2J"),
				     row_of(13, "quiet"), row_of(14, "hidden")};
	struct survey_kept quiet = {.sampled = true, .live_bytes = MIB}, hidden = quiet;
	struct misuse known = {.count = 1, .suppressed = "known"};
	struct survey_row living = row_of(1, "init");
	struct reported r;
	char *text;

	(void)state;
	begin(&r, false, false);
	r.kept = (struct survey_kept){.sampled = true, .live_bytes = 3 * MIB};
	r.kept.guards.bad_accesses[MISUSE_OVERFLOW] = 6;
	r.kept.guards.bad_accesses[MISUSE_DOUBLE_FREE] = 1200;
	r.kept.bad_accesses_suppressed_beside = 2;
	hidden.guards.bad_accesses[MISUSE_OVERFLOW] = 1;
	hidden.bad_accesses = &known;
	hidden.bad_access_count = 1;
	rows[0].unit = "cache.service";
	rows[1].kept = &r.kept;
	rows[2].kept = &quiet;
	rows[3].kept = &hidden;
	look(&r, rows, 4);
	for (int i = 0; i < 4; i++)
		rows[i].ended = true;
	look(&r, rows, 4);
	/* In the last look itself it has a row. */
	rows[0].process.pid = 99;
	rows[1] = living;
	look(&r, rows, 2);
	text = end(&r);
	assert_non_null(
		strstr(text, "\nended before:\n"
			     "  2026-01-02 03:04:06  PID 11 (cache, cache.service): leaking, "
			     "+10.0M/h\n"
			     "  2026-01-02 03:04:06  PID 12 (shop?[2J): 1,206 bad accesses: heap "
			     "buffer overflow 6, double free 1,200 (2 of them suppressed); 3.0 MiB "
			     "allocated and kept\n"));
	assert_null(strstr(text, "quiet"));
	assert_null(strstr(text, "hidden"));
	assert_null(strstr(text, "PID 99"));
	assert_non_null(strstr(text, " 99 cache "));
	assert_non_null(strstr(text, "03:04:07  survey of 2 processes"));
}

static void none(void **state)
{
	struct survey_row rows[2] = {grown(11, "cache", true), row_of(12, "quiet")};
	struct reported r;

	(void)state;
	begin(&r, false, false);
	rows[1].ended = true;
	look(&r, rows, 2);
	look(&r, rows, 1);
	assert_null(strstr(end(&r), "ended before"));
	/* --short is the table. */
	begin(&r, false, true);
	rows[0].ended = true;
	look(&r, rows, 1);
	look(&r, &rows[1], 1);
	assert_null(strstr(end(&r), "ended before"));
}

/* 40 workers of two names, in turn, and 20 others; the table stays as it is. */
static void many(void **state)
{
	struct survey_row row;
	struct reported r;
	char name[16], *text;

	(void)state;
	for (int verbose = 0; verbose < 2; verbose++) {
		begin(&r, verbose, false);
		for (int i = 0; i < 40; i++) {
			row = grown(100 + i, i % 2 ? "odd" : "even", i % 4 == 1);
			row.ended = true;
			look(&r, &row, 1);
		}
		for (int i = 0; i < 20; i++) {
			snprintf(name, sizeof(name), "other%d", i);
			row = grown(200 + i, name, false);
			row.ended = true;
			look(&r, &row, 1);
		}
		row = row_of(1, "init");
		look(&r, &row, 1);
		text = end(&r);
		if (verbose) {
			assert_non_null(strstr(text,
					       "03:04:44  20 processes (odd), the last 139: 10 "
					       "suspect, 10 leaking, +200M/h together\n"));
			assert_non_null(strstr(text, "20 processes (even), the last 138: 20 "
						     "suspect, +200M/h together\n"));
			assert_non_null(strstr(text, "PID 200 (other0): suspect, +10.0M/h\n"));
			continue;
		}
		/* The latest, and how many more there were. */
		assert_non_null(strstr(text, "\nended before:\n  44 more (-v)\n"));
		assert_null(strstr(text, "(odd)"));
		assert_null(strstr(text, "(other3)"));
		assert_non_null(strstr(text, "PID 204 (other4): suspect"));
		assert_non_null(strstr(text, "PID 219 (other19): suspect"));
	}
}

/* A recording may be of weeks, and of any names: what is kept of them has a bound. */
static void bounded(void **state)
{
	struct survey_row row;
	struct reported r;
	char name[16];

	(void)state;
	begin(&r, true, false);
	for (int i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		row = grown(1000 + i, name, false);
		row.ended = true;
		look(&r, &row, 1);
	}
	row = row_of(1, "init");
	look(&r, &row, 1);
	assert_non_null(strstr(end(&r), "\nended before:\n  476 more\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each),
		cmocka_unit_test(none),
		cmocka_unit_test(many),
		cmocka_unit_test(bounded),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
