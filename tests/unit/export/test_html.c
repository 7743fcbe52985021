// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data in the page of -f html; what the page makes of it is asked in
 * tests/integration/html.bats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <malloc.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"

#define DATA_BEGINS "<script type=\"application/json\" id=\"data\">\n"

static const struct export_options plain;

static void needs_page(void)
{
	const char *why = export_find_format("html")->unavailable();

	if (!why)
		return;
	printf("skipped: no page in this build: %s\n", why);
	skip();
}

/* The page's data; free() it. */
static char *export_data(struct snapshot *const *snapshots, size_t count)
{
	const struct exporter_format *format = export_find_format("html");
	char *page = NULL, *data, *end;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);
	struct exporter *e = format->open(out, &plain);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(sample_take(format, e, snapshots[i]), 0);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	assert_int_equal(strncmp(page, "<!doctype html>", 15), 0);
	data = strstr(page, DATA_BEGINS);
	assert_non_null(data);
	data += strlen(DATA_BEGINS);
	end = strstr(data, "</script>");
	assert_non_null(end);
	/* Ours is the first script; the page's own is the only other. */
	assert_non_null(strstr(end + 1, "</script>"));
	assert_null(strstr(strstr(end + 1, "</script>") + 1, "</script>"));
	data = strndup(data, (size_t)(end - data));
	free(page);
	return data;
}

static void usual(void **state)
{
	struct snapshot first = sample_snapshot(), second = first, *both[] = {&first, &second};
	struct stack stacks[SAMPLE_STACKS];
	_cleanup_free_ char *data = NULL;

	(void)state;
	needs_page();
	memcpy(stacks, sample_stacks, sizeof(stacks));
	stacks[0].live = (struct amount){1000, 10};
	first.stacks = stacks;
	first.stack_count = 2;
	first.elapsed_ns -= first.interval_ns;
	first.time_ns -= first.interval_ns;
	second.memory = (struct memory_use){.rss = 5000000, .anon = 4000000};
	second.lost[LOST_LIVE_FULL] = 7;
	data = export_data(both, 2);
	/* Without the version. */
	assert_true(sample_matches("html-usual.json", strstr(data, "\"ends\"")));
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

/* What would end the script, or be no text. */
static void hostile(void **state)
{
	static const struct frame frame = {.function = "</script><!--\xff\"\\\n"};
	static const struct frame *const frames[] = {&frame};
	static char *cmdline[] = {"</script>", NULL};
	char held_by[] = "</script>\n<b>";
	struct stack stack = {.live = {5, 1},
			      .alloc = {5, 1},
			      .frames = frames,
			      .frame_count = 1,
			      .held_by = held_by};
	struct snapshot s = {.pid = 1,
			     .verdict = {.state = VERDICT_TAKEN},
			     .comm = "</script><b>",
			     .cmdline = cmdline,
			     .stacks = &stack,
			     .stack_count = 1},
			*list[] = {&s};
	_cleanup_free_ char *data = NULL;
	struct json_object *root, *strings, *row;

	(void)state;
	needs_page();
	data = export_data(list, 1);
	root = json_tokener_parse(data);
	assert_null(strchr(data, '<'));
	assert_non_null(root);
	assert_true(json_object_object_get_ex(root, "strings", &strings));
	assert_string_equal(json_object_get_string(json_object_array_get_idx(strings, 1)),
			    "</script><!--\xef\xbf\xbd\"\\\n");
	row = json_object_array_get_idx(
		member(json_object_array_get_idx(member(root, "targets"), 0), "rows"), 0);
	assert_string_equal(json_object_to_json_string_ext(json_object_array_get_idx(row, 6),
							   JSON_C_TO_STRING_PLAIN |
								   JSON_C_TO_STRING_NOSLASHESCAPE),
			    "[\"</script>\",\"<b>\"]");
	json_object_put(root);
}

static int64_t last_of(struct json_object *array)
{
	return json_object_get_int64(
		json_object_array_get_idx(array, json_object_array_length(array) - 1));
}

/* However long the watch: the first and the last are there, and what is between is thinned out. */
static void bounded(void **state)
{
	struct stack stacks[2] = {{.id = 1}, {.id = 2, .live = {1, 1}, .alloc = {1, 1}}};
	static struct snapshot snapshots[5000];
	static struct stack all[5000][2];
	static struct snapshot *list[5000];

	(void)state;
	needs_page();
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		stacks[0].live = stacks[0].alloc = (struct amount){100 * (i + 1), i + 1};
		memcpy(all[i], stacks, sizeof(stacks));
		snapshots[i] = (struct snapshot){.pid = 7,
						 .time_ns = 1000000000000 + i * 1000000000,
						 .elapsed_ns = i * 1000000000,
						 .live = {100 * (i + 1) + 1, i + 2},
						 .stacks = all[i],
						 .stack_count = 2};
		list[i] = &snapshots[i];
	}
	for (size_t count = 1; count <= ARRAY_SIZE(list); count += count < 300 ? 1 : 777) {
		_cleanup_free_ char *data = export_data(list, count);
		struct json_object *root = json_tokener_parse(data), *target, *moments, *row,
				   *changes;
		int64_t live = 0;

		assert_non_null(root);
		target = json_object_array_get_idx(member(root, "targets"), 0);
		moments = member(target, "moments");
		assert_in_range(json_object_array_length(moments), count < 32 ? count : 32, 64);
		assert_in_range(json_object_array_length(member(target, "time")),
				count < 512 ? count : 512, 1024);
		assert_int_equal(json_object_get_int64(json_object_array_get_idx(moments, 0)),
				 1000000);
		assert_int_equal(last_of(moments), 1000000 + 1000 * (count - 1));
		assert_int_equal(last_of(member(target, "time")), 1000000 + 1000 * (count - 1));
		assert_int_equal(last_of(member(target, "live")), 100 * count + 1);
		row = json_object_array_get_idx(member(target, "rows"), 0);
		changes = json_object_array_get_idx(row, 4);
		for (size_t i = 1; i < json_object_array_length(changes); i += 5)
			live += json_object_get_int64(json_object_array_get_idx(changes, i));
		assert_int_equal(live, 100 * count);
		json_object_put(root);
	}
}

static size_t in_use(void)
{
	const struct mallinfo2 all = mallinfo2();

	return all.uordblks + all.hblkhd;
}

static struct exporter *export_to_nowhere(FILE **out)
{
	*out = fopen("/dev/null", "we");
	assert_non_null(*out);
	return export_find_format("html")->open(*out, &plain);
}

#define TARGETS 10000

/* A recording may claim any number of targets, some fifty bytes each. */
static void many_targets(void **state)
{
	const struct exporter_format *format = export_find_format("html");
	struct stack stack = {.id = 1, .live = {1, 1}, .alloc = {1, 1}};
	size_t before, after;
	struct exporter *e;
	FILE *out;

	(void)state;
	needs_page();
	e = export_to_nowhere(&out);
	before = in_use();
	for (uint32_t i = 0; i < TARGETS; i++) {
		const struct snapshot s = {
			.target_id = i, .pid = 7, .stacks = &stack, .stack_count = 1};

		assert_int_equal(sample_take(format, e, &s), 0);
	}
	after = in_use();
	print_message("%zu bytes for each of %d targets\n", (after - before) / TARGETS, TARGETS);
	assert_in_range(after - before, 0, TARGETS * 2500ul);
	assert_int_equal(format->close(e), 0);
	fclose(out);
}

#define STACKS 50000
#define LARGE  4
#define LOOKS  20

/* Each look at a target with many stacks is a few bytes in the file, where nothing has changed. */
static void many_stacks(void **state)
{
	const struct exporter_format *format = export_find_format("html");
	struct stack *stacks = calloc(STACKS, sizeof(*stacks));
	size_t before = 0, after;
	struct exporter *e;
	FILE *out;

	(void)state;
	needs_page();
	assert_non_null(stacks);
	for (size_t i = 0; i < STACKS; i++)
		stacks[i] = (struct stack){.id = i + 1, .live = {1, 1}, .alloc = {1, 1}};
	e = export_to_nowhere(&out);
	for (uint64_t look = 0; look < LOOKS; look++) {
		for (uint32_t i = 0; i < LARGE; i++) {
			const struct snapshot s = {.target_id = i,
						   .pid = 7,
						   .elapsed_ns = look * 1000000000,
						   .stacks = stacks,
						   .stack_count = STACKS};

			assert_int_equal(sample_take(format, e, &s), 0);
		}
		before = before ?: in_use();
	}
	after = in_use();
	print_message("%zu MiB more for %d looks than for one\n", (after - before) >> 20, LOOKS);
	/* The values that are kept of them all, and a little. */
	assert_in_range(after, 0, before + (72ul << 20));
	assert_int_equal(format->close(e), 0);
	fclose(out);
	free(stacks);
}

#define PROCESSES 20000

/* The same of a survey's processes, of which each look has some bytes. */
static void many_processes(void **state)
{
	const struct exporter_format *format = export_find_format("html");
	struct survey_row *rows = calloc(PROCESSES, sizeof(*rows));
	struct survey_report report = {.time_ns = 1000000000, .rows = rows, .row_count = 1};
	size_t before, after;
	struct exporter *e;
	FILE *out;

	(void)state;
	needs_page();
	assert_non_null(rows);
	for (size_t i = 0; i < PROCESSES; i++) {
		rows[i].process.pid = (pid_t)(i + 1);
		rows[i].process.anon = 4096;
	}
	e = export_to_nowhere(&out);
	for (int look = 0; look < 200; look++)
		assert_int_equal(format->survey(e, &report), 0);
	before = in_use();
	report.row_count = PROCESSES;
	assert_int_equal(format->survey(e, &report), 0);
	after = in_use();
	print_message("%zu bytes for each of %d processes\n", (after - before) / PROCESSES,
		      PROCESSES);
	assert_in_range(after - before, 0, PROCESSES * 1000ul);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual),       cmocka_unit_test(hostile),
		cmocka_unit_test(bounded),     cmocka_unit_test(many_targets),
		cmocka_unit_test(many_stacks), cmocka_unit_test(many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
