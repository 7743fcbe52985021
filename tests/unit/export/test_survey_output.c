// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the survey prints: a table that fits, names that do no harm, and no value that is not known.
 */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/export/export.h"

#define MIB (1024 * 1024ull)

static void fill_rows(struct survey_row rows[3], const struct survey_drill *drill)
{
	rows[0] = (struct survey_row){.process = {.pid = 4194304,
						  .ppid = 1,
						  .anon = 1023 * MIB,
						  .swap = MIB,
						  .threads = 8,
						  .comm = "evil\033[2J\xffname"},
				      .trend = {.kind = TREND_GROWING,
						.leaking = true,
						.growth_known = true,
						.error_known = true,
						.growth = 1e9,
						.growth_low = 9e8,
						.growth_high = 1.1e9,
						.reason = "grew in every third of the watch"},
				      .samples = 12345,
				      .low_then = MIB,
				      .low_now = 5 * MIB,
				      .cgroup = "/system.slice/docker-0123456789ab.scope",
				      .container = "a-long-name-of-a-shop",
				      .runtime = "docker",
				      .spark = {1 * MIB, 2 * MIB, 3 * MIB},
				      .spark_count = 3,
				      .limit_known = true,
				      .limit_s = 4000,
				      .drill = drill};
	rows[1] = (struct survey_row){
		.process = {.pid = 7, .ppid = 1, .anon = 100, .threads = 1, .comm = "new"},
		.trend = {.kind = TREND_TOO_EARLY, .reason = "too few samples for a judgement"},
		.samples = 1};
	rows[2] = (struct survey_row){
		.process = {.pid = 8, .ppid = 1, .anon = 3 * MIB, .threads = 1, .comm = "gone"},
		.trend = {.kind = TREND_STEADY,
			  .growth_known = true,
			  .growth = -12,
			  .reason = "level"},
		.samples = 40,
		.ended = true,
		.cgroup = "/"};
}

static const struct exporter_format *format_text_of(void)
{
	return export_find_format("text");
}

/* The output as a string to be freed. A negative share: it is not known. */
static char *write_at(const char *name, const struct survey_drill *drill,
		      const struct export_options *options, double tool_share)
{
	struct survey_row rows[3];
	struct survey_report report = {.time_ns = 1767323045678000000ull,
				       .elapsed_ns = 42000000000ull,
				       .source = "bpf",
				       .process_count = 3,
				       .growing_count = 1,
				       .tool_known = tool_share >= 0,
				       .tool_share = tool_share,
				       .probe_share = 0.0009,
				       .budget_share = 0.02,
				       .rows = rows,
				       .row_count = 3};
	const struct exporter_format *format = export_find_format(name);
	struct exporter *e;
	FILE *out;
	char *text = NULL;
	size_t len = 0;

	fill_rows(rows, drill);
	out = open_memstream(&text, &len);
	assert_non_null(out);
	e = format->open(out, options);
	assert_int_equal(format->survey(e, &report), 0);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	return text;
}

static char *write_with(const char *name, const struct survey_drill *drill, bool utf8,
			double tool_share)
{
	const struct export_options options = {.utf8 = utf8};

	return write_at(name, drill, &options, tool_share);
}

/* On terminals: nothing is wider, and what is left out below 100 columns is the least telling. */
static void widths(void **state)
{
	static const struct survey_drill drill = {.open = true, .note = "a note"};
	static const size_t all[] = {64, 80, 99, 100, 120, 250};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const struct export_options options = {.width = all[i]};
		char *text = write_at("text", &drill, &options, 0.0209);

		assert_int_equal(!strstr(text, "SEEN"), all[i] < 100);
		assert_int_equal(!strstr(text, "UNIT/CONTAINER"), all[i] < 80);
		assert_non_null(strstr(text, "leaking"));
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			assert_in_range(strlen(line), 1, all[i]);
		free(text);
	}
}

/* --short: the table and nothing else. */
static void brief_table(void **state)
{
	static const struct survey_drill drill = {.open = true, .note = "a note"};
	const struct export_options options = {.brief = true};
	char *text = write_at("text", &drill, &options, -1);

	(void)state;
	assert_non_null(strstr(text, "leaking"));
	assert_null(strstr(text, "a note"));
	assert_null(strstr(text, "growth"));
	free(text);
}

static void table(void **state)
{
	static const struct survey_drill drill = {.open = true, .note = "a note"};
	char *text = write_with("text", &drill, false, -1), *line;

	(void)state;
	assert_non_null(strstr(text, "3 processes"));
	assert_non_null(strstr(text, "leaking"));
	assert_non_null(strstr(text, "too early"));
	assert_non_null(strstr(text, "exited"));
	assert_non_null(strstr(text, "a note"));
	assert_non_null(strstr(text, "probes are on it now"));
	/* Memory, growth, time to the limit; no window has ended yet. */
	assert_non_null(strstr(text, " 1.0G    +3.3T >9999% leaking   "));
	assert_non_null(strstr(text, " 12345  1h06m     -\n"));
	/* Nothing of that is known of the others. */
	assert_non_null(strstr(text, "   100        ?        too early "));
	assert_non_null(strstr(text, "     1      -     -\n"));
	assert_non_null(strstr(text, " evil?..?name "));
	for (const char *c = text; *c; c++)
		assert_true(*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_in_range(strlen(line), 1, 100);
	free(text);
	text = write_with("text", NULL, true, -1);
	assert_non_null(strstr(text, "▁"));
	free(text);
	text = write_with("text", NULL, true, 0.001);
	assert_non_null(strstr(text, "the survey itself 0.10 %\n"));
	assert_null(strstr(text, "waited off"));
	free(text);
	/* A short watch in which the probes of the first window were placed. */
	text = write_with("text", NULL, true, 0.0209);
	assert_non_null(strstr(
		text, "probes 0.09 % (budget 2 %), the survey itself 2.09 %\nthe budget is for "));
	assert_non_null(strstr(text, "waited off before the next window\n"));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(!strstr(line, "budget") || strlen(line) <= 100);
	free(text);
}

/*
 * A line of callers has room for 100 columns and ends before the first that does not fit; what was
 * lost is said.
 */
static void callers(void **state)
{
	static const struct frame names[] = {
		{.function = "malloc"},
		{.function = NULL, .module = "stripped"},
		{.function = "wrapper"},
		{.function = "ab\033\xff"},
		{.function = "a_name_that_takes_up_a_good_part_of_the_line_but_leaves_room"},
		{.function = "no_room_for_this_one"},
	};
	static const struct frame *const frames[] = {&names[0], &names[1], &names[2],
						     &names[3], &names[4], &names[5]};
	struct stack stack = {.live = {100, 1}, .frames = frames, .frame_count = 6};
	struct snapshot snapshot = {
		.stacks = &stack, .stack_count = 1, .live = {2458, 1}, .lost = {[LOST_FRAMES] = 7}};
	const struct stack *shown[] = {&stack};
	struct report *window = report_borrow(&snapshot);
	struct survey_drill drill = {
		.report = window, .snapshot = &snapshot, .shown = shown, .shown_count = 1};
	char *text = write_with("text", &drill, false, -1);

	(void)state;
	assert_non_null(strstr(text,
			       "  most in wrapper < ab?? < a_name_that_takes_up_a_good_part_of_the_"
			       "line_but_leaves_room\n"));
	assert_non_null(strstr(text, "  lost 7 "));
	assert_non_null(strstr(text, " 12345  1h06m  2.4K\n"));
	free(text);
	report_drop(window);
}

/* One look; what it adds to the text. */
static void look_again(struct exporter *e, struct survey_report *report, const char *const *text,
		       const char *is, const char *is_not)
{
	size_t before = *text ? strlen(*text) : 0;

	report->time_ns += 60000000000ull;
	assert_int_equal(format_text_of()->survey(e, report), 0);
	assert_non_null(strstr(*text + before, is));
	assert_null(strstr(*text + before, is_not));
}

/* Stacks that are as they were stand where they were shown first; at the end they are shown again. */
static void unchanged(void **state)
{
	static const struct frame names[] = {{.function = "malloc"}, {.function = "the_leak"}};
	static const struct frame *const frames[] = {&names[0], &names[1]};
	static const struct export_options options;
	struct stack stack = {.live = {100, 1}, .frames = frames, .frame_count = 2};
	struct snapshot snapshot = {.stacks = &stack, .stack_count = 1, .live = {100, 1}};
	const struct stack *shown[] = {&stack};
	struct report *window = report_borrow(&snapshot);
	struct survey_drill drill = {
		.report = window, .snapshot = &snapshot, .shown = shown, .shown_count = 1};
	struct survey_row rows[3];
	struct survey_report report = {.time_ns = 1767323045000000000ull,
				       .source = "bpf",
				       .process_count = 3,
				       .rows = rows,
				       .row_count = 3};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct exporter *e = format_text_of()->open(out, &options);
	const char *const *now = (const char *const *)&text;

	(void)state;
	fill_rows(rows, &drill);
	look_again(e, &report, now, "probes were on ---\n", "as at");
	look_again(e, &report, now, ", as at 2026-01-02 03:05:05 ---\n", "#1 ");
	stack.live.bytes = snapshot.live.bytes = 200;
	look_again(e, &report, now, "probes were on ---\n", "as at");
	look_again(e, &report, now, ", as at 2026-01-02 03:07:05 ---\n", "#1 ");
	report.final = true;
	look_again(e, &report, now, "#1 ", "as at");
	assert_int_equal(format_text_of()->close(e), 0);
	fclose(out);
	free(text);
	report_drop(window);
}

static struct json_object *at(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static void json(void **state)
{
	static const struct frame frame = {.function = "malloc", .module = "libc.so.6"};
	static const struct frame *const frames[] = {&frame};
	struct stack stack = {
		.id = 7, .live = {100, 1}, .alloc = {100, 1}, .frames = frames, .frame_count = 1};
	struct snapshot snapshot = {.pid = 4194304,
				    .comm = "evil",
				    .stacks = &stack,
				    .stack_count = 1,
				    .live = {100, 1}};
	const struct stack *shown[] = {&stack};
	struct report *window = report_borrow(&snapshot);
	struct survey_drill drill = {.report = window,
				     .snapshot = &snapshot,
				     .shown = shown,
				     .shown_count = 1,
				     .grown = 5,
				     .window_ns = 10000000000ull};
	char *text = write_with("json", &drill, false, -1);
	struct json_object *report = json_tokener_parse(text), *processes, *p;

	(void)state;
	assert_non_null(report);
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_null(memchr(text, '\n', strlen(text) - 1));
	assert_string_equal(json_object_get_string(at(report, "time")), "2026-01-02T03:04:05.678Z");
	assert_null(at(report, "tool_cpu_percent"));
	processes = at(report, "processes");
	assert_int_equal(json_object_array_length(processes), 3);
	p = json_object_array_get_idx(processes, 0);
	assert_string_equal(json_object_get_string(at(p, "trend")), "growing");
	assert_string_equal(json_object_get_string(at(p, "confidence")), "leaking");
	assert_string_equal(json_object_get_string(at(p, "comm")), "evil\033[2J\xef\xbf\xbdname");
	assert_int_equal(json_object_array_length(at(p, "stacks")), 1);
	assert_int_equal(json_object_get_int64(at(at(p, "drill"), "grown_bytes")), 5);
	assert_int_equal(json_object_get_int64(at(at(at(p, "drill"), "lost"), "stack_frames")), 0);
	/* What is not known of a process that has just been seen. */
	p = json_object_array_get_idx(processes, 1);
	for (const char *const *key =
		     (const char *const[]){"trend", "confidence", "growth_bytes_per_s", "cgroup",
					   "unit", "container", "pod", "limit_in_s", "drill",
					   "stacks", NULL};
	     *key; key++)
		assert_null(at(p, *key));
	p = json_object_array_get_idx(processes, 2);
	assert_true(json_object_get_boolean(at(p, "ended")));
	assert_true(json_object_get_double(at(p, "growth_bytes_per_s")) == -12);
	report_drop(window);
	json_object_put(report);
	free(text);
}

/* A recording may say why in any words, or in none. */
static void reasons(void **state)
{
	static const struct survey_drill drill = {.note = "note\033[2J"};
	static const char *const texts[] = {"why\033[2J", NULL};
	const struct exporter_format *format = export_find_format("text");
	const struct export_options options = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct survey_row row = {.process = {.pid = 7, .comm = "shop"},
					 .trend = {.kind = TREND_GROWING, .reason = texts[i]},
					 .drill = &drill};
		const struct survey_report report = {.source = "bpf", .rows = &row, .row_count = 1};
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);
		struct exporter *e = format->open(out, &options);

		assert_int_equal(format->survey(e, &report), 0);
		assert_int_equal(format->close(e), 0);
		fclose(out);
		assert_non_null(strstr(text, "            note?[2J\n"));
		assert_non_null(strstr(text, i ? "            growing: lowest"
					       : "            why?[2J: lowest"));
		assert_null(strchr(text, '\033'));
		free(text);
	}
}

/* Of a process that is kept: the first three with their stacks, -v: all there are; and how many more there were. */
static void bad_accesses(void **state)
{
	static const struct frame frame = {.function = "shop_pay", .module = "shop"};
	static const struct frame *const frames[] = {&frame};
	struct misuse bad[5];
	struct survey_kept kept = {.sampled = true,
				   .guards.state = {.asked = true, .on = true, .guarded = 7},
				   .bad_accesses = bad,
				   .bad_access_count = ARRAY_SIZE(bad),
				   .bad_accesses_left_out = 30};
	struct survey_row row = {.process = {.pid = 7, .comm = "evil\033[2J"}, .kept = &kept};
	const struct survey_report report = {.source = "bpf", .rows = &row, .row_count = 1};
	const char *const more[] = {"\nand 32 more (-v)\n", "\nand 30 more\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = (struct misuse){.finder = MISUSE_BY_GUARD,
					 .kind = MISUSE_USE_AFTER_FREE,
					 .mode = ACCESS_READ,
					 .count = 1,
					 .block = 0x1000,
					 .size = 96,
					 .address = 0x1000 + i,
					 .calls = {[MISUSE_CALL_NOW] = {.known = true,
									.frames = frames,
									.frame_count = 1}}};
	for (int verbose = 0; verbose < 2; verbose++) {
		const struct export_options options = {.verbose = verbose};
		const struct exporter_format *format = export_find_format("text");
		char *text = NULL;
		size_t len = 0, shown = 0;
		FILE *out = open_memstream(&text, &len);
		struct exporter *e = format->open(out, &options);

		assert_int_equal(format->survey(e, &report), 0);
		assert_int_equal(format->close(e), 0);
		fclose(out);
		for (const char *at = text; (at = strstr(at, "\nbad    ")) != NULL; at++)
			shown++;
		assert_int_equal(shown, verbose ? 5 : 3);
		assert_non_null(strstr(text, "--- 1. PID 7 (evil"));
		assert_null(strchr(text, '\033'));
		assert_non_null(strstr(text, "READ 2 bytes inside a freed 96-byte block"));
		assert_non_null(strstr(text, "    shop_pay"));
		assert_non_null(strstr(text, more[verbose]));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),	cmocka_unit_test(widths),
		cmocka_unit_test(brief_table),	cmocka_unit_test(callers),
		cmocka_unit_test(unchanged),	cmocka_unit_test(json),
		cmocka_unit_test(bad_accesses), cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
