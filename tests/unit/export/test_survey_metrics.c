// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The survey's metrics: both syntaxes, names that do no harm, bounded series, and no value that is
 * not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/export/survey_metrics.h"

#define MIB (1024 * 1024ull)

static const struct frame allocator = {.function = "malloc", .module = "libc.so.6"};
static const struct frame caller = {.function = "operator\"\"_x(char const*)\n"};
/* Between them what people are not told of: the one that is named is the site. */
static const struct frame wrapper = {.function = "xmalloc"};
static const struct frame library = {.function = "std::vector<int>::reserve(unsigned long)"};
static const struct frame *const frames[] = {&allocator, &wrapper, &library, &caller};
static struct stack stack = {.live = {3 * MIB, 10}, .frames = frames, .frame_count = 4};
static struct scope scopes[] = {
	{.function = (char *)"handle(char const*)",
	 .tag = (char *)"a\"b",
	 .calls = 7,
	 .kept = {512, 1}},
	{.function = (char *)"plain", .calls = 3, .kept = {64, 2}, .live = {32, 1}},
};
static struct snapshot snapshot = {.pid = 100,
				   .live = {4 * MIB, 12},
				   .stacks = &stack,
				   .stack_count = 1,
				   .scoped = true,
				   .scopes = {scopes, ARRAY_SIZE(scopes)}};
static const struct stack *const shown[] = {&stack};
static struct stack_notes notes = {.frames = frames, .frame_count = 4};
static struct report window = {.snapshot = &snapshot, .notes = &notes};
static const struct survey_drill drill = {
	.report = &window, .snapshot = &snapshot, .shown = shown, .shown_count = 1};

static const struct survey_kept kept = {
	.sampled = true,
	.guards = {.state = {.asked = true,
			     .on = true,
			     .places = 512,
			     .in_use = 128,
			     .guarded = 900,
			     .oldest_free_ms = 2500},
		   .bad_accesses = {[MISUSE_USE_AFTER_FREE] = 3}},
};
static const struct survey_kept not_guarded = {
	.sampled = true, .guards = {.state = {.asked = true, .reason = "it is static"}}};
static const struct survey_keep_report keep = {.sampled = 2,
					       .guards = true,
					       .guarded = 1,
					       .not_guarded = 1,
					       .ended_bad_accesses = {[MISUSE_DOUBLE_FREE] = 8}};

static const struct survey_row rows[] = {
	{.process = {.pid = 100,
		     .anon = 7 * MIB,
		     .swap = 1,
		     .threads = 3,
		     .comm = "a\"b\\c\nd\033\xff"},
	 .trend = {.kind = TREND_GROWING, .leaking = true, .growth_known = true, .growth = 0.125},
	 .unit = "x@\\x2d.service",
	 .container = "shop",
	 .limit_known = true,
	 .limit_s = 60,
	 .children_exited = 5,
	 .drill = &drill,
	 .kept = &kept},
	{.process = {.pid = 101, .anon = MIB, .comm = "new"},
	 .kept = &not_guarded,
	 .trend = {.kind = TREND_TOO_EARLY, .growth_known = true, .growth = 1e9}},
	{.process = {.pid = 102, .anon = MIB, .comm = "gone"},
	 .trend = {.kind = TREND_STEADY},
	 .ended = true},
	{.process = {.pid = 104, .anon = MIB, .comm = "bad"}, .kept = &kept, .ended = true},
	{.process = {.pid = 103, .anon = 9007199254740992, .comm = ""},
	 .trend = {.kind = TREND_STEADY, .growth_known = true, .growth = -1.0 / 3}},
};

static const struct survey_report report = {
	.time_ns = 1767323045678000000ull,
	.source = "bpf",
	.missing = {.parts = {{.what = "short_lived_children"}}, .count = 1},
	.process_count = 10,
	.growing_count = 1,
	.budget_share = 0.02,
	.rows = (struct survey_row *)rows,
	.row_count = ARRAY_SIZE(rows),
	.keep = &keep,
	.rest = {.count = 6, .anon = 11, .swap = 12, .shmem = 13},
	.totals = {.looks = 42,
		   .cpu_ns = 1500000000,
		   .probe_ns = 250000000,
		   .lost = {[LOST_FRAMES] = 9}},
};

static char *format(enum metrics_syntax syntax)
{
	char *text;
	size_t size;

	assert_int_equal(survey_format_metrics(&report, syntax, &text, &size), 0);
	assert_int_equal(size, strlen(text));
	return text;
}

static void has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	size_t len = strlen(line);

	while (at && ((at != text && at[-1] != '\n') || at[len] != '\n'))
		at = strstr(at + 1, line);
	if (!at)
		fail_msg("no line '%s' in:\n%s", line, text);
}

static const char *const in_both[] = {
	"memleakbpf_process_anon_bytes{pid=\"100\",comm=\"a\\\"b\\\\c\\nd?\xef\xbf\xbd\","
	"unit=\"x@\\\\x2d.service\",container=\"shop\"} 7340032",
	"memleakbpf_process_anon_bytes{pid=\"103\"} 9.00719925474099e+15",
	"memleakbpf_process_anon_bytes{pid=\"101\",comm=\"new\"} 1048576",
	"memleakbpf_process_growth_bytes_per_second{pid=\"103\"} -0.333333333333333",
	"memleakbpf_process_suspicion{pid=\"103\"} 0",
	"memleakbpf_other_processes 6",
	"memleakbpf_process_guards{pid=\"101\",comm=\"new\"} 0",
	"memleakbpf_guarded_processes 1",
	"memleakbpf_not_guarded_processes 1",
	"memleakbpf_process_ended{pid=\"104\",comm=\"bad\"} 1",
	"memleakbpf_bad_accesses_total{pid=\"104\",comm=\"bad\",kind=\"use_after_free\"} 3",
	"memleakbpf_process_guarded_blocks_total{pid=\"104\",comm=\"bad\"} 900",
	"memleakbpf_ended_bad_accesses_total{kind=\"double_free\"} 8",
	"memleakbpf_ended_bad_accesses_total{kind=\"overflow\"} 0",
	"memleakbpf_other_processes_anon_bytes 11",
	"memleakbpf_other_processes_swap_bytes 12",
	"memleakbpf_other_processes_shmem_bytes 13",
	"memleakbpf_looks_total 42",
	"memleakbpf_cpu_seconds_total 1.5",
	"memleakbpf_probe_cpu_seconds_total 0.25",
	"memleakbpf_last_look_timestamp_seconds 1767323045.678",
	"memleakbpf_lost_records_total{cause=\"stack_frames\"} 9",
	"memleakbpf_missing{what=\"short_lived_children\"} 1",
	"memleakbpf_build_info{version=\"" MEMLEAKBPF_VERSION "\",source=\"bpf\"} 1",
};

/* Of the first process, with its labels left out. */
static const char *const of_the_suspect[] = {
	"memleakbpf_process_suspicion{} 2",
	"memleakbpf_process_growth_bytes_per_second{} 0.125",
	"memleakbpf_process_memory_limit_seconds{} 60",
	"memleakbpf_process_children_exited_total{} 5",
	"memleakbpf_process_live_bytes{} 4194304",
	"memleakbpf_bad_accesses_total{,kind=\"use_after_free\"} 3",
	"memleakbpf_bad_accesses_total{,kind=\"overflow\"} 0",
	"memleakbpf_process_guards{} 1",
	"memleakbpf_process_guarded_blocks_total{} 900",
	"memleakbpf_process_guard_places_ratio{} 0.25",
	"memleakbpf_process_guard_quarantine_seconds{} 2.5",
	"memleakbpf_scope_calls{,function=\"plain\"} 3",
	"memleakbpf_scope_live_bytes{,function=\"plain\"} 32",
	"memleakbpf_scope_kept_bytes{,function=\"handle(char const*)\",tag=\"a\\\"b\"} 512",
	("memleakbpf_process_top_stack_live_bytes{,function=\"operator\\\"\\\"_x(char "
	 "const*)\\n\"} "
	 "3145728"),
};

/* Cuts the labels of the first process out of the text. */
static void cut_labels(char *text)
{
	static const char labels[] = "pid=\"100\",comm=\"a\\\"b\\\\c\\nd?\xef\xbf\xbd\","
				     "unit=\"x@\\\\x2d.service\",container=\"shop\"";
	char *at;

	while ((at = strstr(text, labels)) != NULL)
		memmove(at, at + strlen(labels), strlen(at + strlen(labels)) + 1);
}

static void check_both(char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(in_both); i++)
		has_line(text, in_both[i]);
	/* Neither the one that is gone nor what is not known. */
	assert_null(strstr(text, "pid=\"102\""));
	assert_null(strstr(text, "anon_bytes{pid=\"104\""));
	assert_null(strstr(text, "process_guards{pid=\"104\""));
	assert_null(strstr(text, "ended{pid=\"101\""));
	assert_null(strstr(text, "suspicion{pid=\"101\""));
	assert_null(strstr(text, "growth_bytes_per_second{pid=\"101\""));
	assert_null(strstr(text, "limit_seconds{pid=\"103\""));
	assert_null(strstr(text, "process_live_bytes{pid=\"103\""));
	assert_null(strstr(text, "memleakbpf_resident_memory_bytes"));
	cut_labels(text);
	for (size_t i = 0; i < ARRAY_SIZE(of_the_suspect); i++)
		has_line(text, of_the_suspect[i]);
}

static void openmetrics(void **state)
{
	char *text = format(METRICS_OPENMETRICS);

	(void)state;
	has_line(text, "# TYPE memleakbpf_build info");
	has_line(text, "# TYPE memleakbpf_cpu_seconds counter");
	has_line(text, "# UNIT memleakbpf_cpu_seconds seconds");
	has_line(text, "# UNIT memleakbpf_process_growth_bytes_per_second bytes_per_second");
	has_line(text, "# HELP memleakbpf_process_threads Threads.");
	assert_string_equal(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
	assert_null(strstr(text, "\n\n"));
	check_both(text);
	free(text);
}

static void prometheus(void **state)
{
	char *text = format(METRICS_PROMETHEUS);

	(void)state;
	has_line(text, "# TYPE memleakbpf_build_info gauge");
	has_line(text, "# TYPE memleakbpf_cpu_seconds_total counter");
	has_line(text, "# TYPE memleakbpf_process_children_exited_total counter");
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	check_both(text);
	free(text);
}

/*
 * The lines that begin a family: each once, its samples behind it, its unit the end of its name
 * (OpenMetrics 1.0.0, "Unit").
 */
static void families(void **state)
{
	char *text = format(METRICS_OPENMETRICS), *save = NULL, family[128] = "";

	(void)state;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[128], rest[256];

		if (sscanf(line, "# TYPE %127s", name) == 1) {
			assert_null(strstr(save, line));
			strcpy(family, name);
		} else if (sscanf(line, "# UNIT %127s %255s", name, rest) == 2) {
			assert_string_equal(name, family);
			assert_true(strlen(name) > strlen(rest));
			assert_string_equal(name + strlen(name) - strlen(rest), rest);
		} else if (sscanf(line, "# HELP %127s", name) == 1) {
			assert_string_equal(name, family);
		} else if (*line != '#') {
			assert_memory_equal(line, family, strlen(family));
		}
	}
	free(text);
}

static void accept(void **state)
{
	static const char *const openmetrics_wanted[] = {
		"application/openmetrics-text",
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	};

	static const char *const others[] = {
		NULL, "", "*/*", "text/html,*/*;q=0.8", "text/plain;version=0.0.4;q=1,*/*;q=0.1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(openmetrics_wanted); i++)
		assert_int_equal(metrics_choose_syntax(openmetrics_wanted[i]), METRICS_OPENMETRICS);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(metrics_choose_syntax(others[i]), METRICS_PROMETHEUS);
	assert_string_equal(metrics_content_type(METRICS_OPENMETRICS),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_string_equal(metrics_content_type(METRICS_PROMETHEUS),
			    "text/plain; version=0.0.4; charset=utf-8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openmetrics),
		cmocka_unit_test(prometheus),
		cmocka_unit_test(families),
		cmocka_unit_test(accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
