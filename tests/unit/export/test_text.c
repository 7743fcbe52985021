// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"

static const struct export_options plain;

static void usual(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = sample_export("text", &plain, &s, 2);

	(void)state;
	assert_true(sample_matches("text-usual.txt", text));
}

static void everything(void **state)
{
	struct export_options options = {
		.color = true,
		.show_older = true,
		.older_ns = 300000000000ULL,
		.verbose = true,
		.width = 80,
	};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;

	(void)state;
	s.sample_bytes = 524288;
	s.final = s.exited = s.children_late = true;
	for (int i = 0; i < LOST_CAUSES; i++)
		s.lost[i] = 1000 + (unsigned)i;
	text = sample_export("text", &options, &s, 3);
	assert_true(sample_matches("text-everything.txt", text));
}

/* How often it samples is told by its samples: without any it is not known, and not 0. */
static void of_a_process_that_tells(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *before = NULL;

	(void)state;
	s.attached = ATTACHED_BY_USDT;
	s.sample_bytes = 524288;
	text = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(text, "one sample per 512.0 KiB allocated (made by the process "
				     "itself)"));
	s.sample_bytes = 0;
	before = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(before, "has told of none so far"));
}

/* That all is reachable must not pass for all-clear, nor what is live for what is in memory. */
static void not_clear(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;

	(void)state;
	s.verdict.state = VERDICT_TAKEN;
	s.live.bytes = 730ull << 20;
	s.memory.rss = 53ull << 20;
	s.growth.untraced = 10ull << 20;
	text = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(
		text, "        but 10.0 MiB that the process has grown by since attach is in "
		      "no verdict\n"));
	assert_non_null(strstr(text, "memory 53.0 MiB of the process is resident: most of the "
				     "730.0 MiB live was never touched"));
}

/* One or two arenas name bystanders; addresses beside what is in memory. */
static void few_arenas_and_space(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *few = NULL, *many = NULL;

	(void)state;
	s.arenas = (struct amount){9 << 20, 9};
	s.growth.space = 160 << 20;
	s.growth.space_resident = 3 << 20;
	few = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(few,
			       "arenas 9.0 MiB of live in 9: a runtime's own memory, in which it "
			       "has its objects, used or not; fewer than 10 are weak evidence of "
			       "who fills them\n"));
	assert_non_null(strstr(few, "space  its addresses (VmSize) grew by 160.0 MiB, what it has "
				    "in memory by 3.0 MiB: "));
	s.arenas = (struct amount){10 << 20, 10};
	s.growth.space = 0;
	many = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(many, "objects, used or not\n"));
	assert_null(strstr(many, "VmSize"));
}

/* In words, what the JSON has by numbers. */
static void figures_in_words(void **state)
{
	struct export_options options = {.verbose = true};
	/* 4 to 8 us, and 66 to 131 ms. */
	struct stack_figures figures = {.lifetimes = {[2] = 990, [16] = 10},
					.outlived_ns = 8000000000ULL,
					.outlived = {2048, 2},
					.temporary = {96, 3},
					.at_peak = {4096, 4},
					.peak_bytes = 8192,
					.sizes = {.values = {48, 4096}, .counts = {500, 3}}};
	struct stack stack = sample_stacks[0];
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *one = NULL, *brief = NULL;

	(void)state;
	stack.figures = s.figures = &figures;
	s.stacks = &stack;
	s.stack_count = 1;
	s.figures_kept = (struct figures_kept){
		.lifetimes = true, .temporary = true, .peak = true, .sizes = true};
	s.peak = (struct peak){.bytes = 2000, .time_ns = 1, .captured_bytes = 1980};
	text = sample_export("text", &options, &s, 1);
	assert_non_null(strstr(
		text, "    freed after 4 us to 8 us in the median, 99 % after 4 us to 8 us (1,000 "
		      "blocks); 2 live ones (2.0 KiB) are older than 8.0 s\n"));
	assert_non_null(strstr(text, "    temporary: 96 B in 3 blocks, "));
	assert_non_null(strstr(text, "    at the peak 4.0 KiB in 4 blocks, 8.0 KiB at most\n"));
	assert_non_null(strstr(text, "    sizes: 500 of 48 B, 3 of 4,096 B\n"));
	assert_non_null(strstr(text, "; what stacks had is known of 1.9 KiB, 1.0 % below\n"));
	/* One that was too short for a look at the stacks. */
	figures.outlived = (struct amount){1024, 1};
	s.peak.captured_bytes = 0;
	one = sample_export("text", &plain, &s, 1);
	assert_non_null(
		strstr(one, "99 % after 4 us to 8 us; 1 live one (1.0 KiB) is older than 8.0 s\n"));
	assert_non_null(strstr(one, "; it was over before what stacks had could be read\n"));
	/* How long others lived is told where that says something of those that live, else with -v. */
	figures.outlived = (struct amount){0, 0};
	brief = sample_export("text", &plain, &s, 1);
	assert_null(strstr(brief, "freed after"));
}

/* One call in many thousands that keeps something is what is looked for. */
static void seldom_kept(void **state)
{
	struct scope_kept kept[] = {{.calls = 29999}, {.bytes = 512, .bytes_max = 512, .calls = 1}};
	struct scope scope = {.function = (char *)"handle",
			      .calls = 30000,
			      .kept_calls = kept,
			      .kept_count = ARRAY_SIZE(kept)};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *half = NULL;

	(void)state;
	s.scoped = true;
	s.scopes = (struct scopes_list){.items = &scope, .count = 1};
	text = sample_export("text", &plain, &s, 1);
	assert_non_null(
		strstr(text, "       > 99.9 % of calls kept nothing, < 0.1 % kept 512 B\n"));
	kept[0].calls = 1;
	half = sample_export("text", &plain, &s, 1);
	assert_non_null(strstr(half, "       50.0 % of calls kept nothing, 50.0 % kept 512 B\n"));
}

static void first_snapshot(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;

	(void)state;
	/* Of a change nothing is known yet, so nothing may be said. */
	s.interval_ns = 0;
	text = sample_export("text", &plain, &s, 1);
	assert_null(strstr(text, "12.0 KiB"));
	assert_null(strstr(text, "B/s"));
	assert_null(strstr(text, "change"));
	assert_non_null(strstr(text, "1 of 3 stacks shown: 99.7 % of 1.3 MiB live"));
}

static void nothing_live(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;

	(void)state;
	s.live = (struct amount){0};
	s.stack_count = 0;
	s.final = true;
	s.interval_ns = 0;
	text = sample_export("text", &plain, &s, 0);
	assert_true(sample_matches("text-nothing.txt", text));
}

/* Nothing is live, and yet the process has grown: that is no all-clear. */
static void grown_unseen(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *traced = NULL;

	(void)state;
	s.live = (struct amount){0};
	s.stack_count = 0;
	s.growth = (struct growth){.anon = 14471168,
				   .untraced = 14471168,
				   .where = "12.3 MiB in \033[2Jnew memory\n1.5 MiB in [heap]"};
	text = sample_export("text", &plain, &s, 0);
	assert_non_null(strstr(text, "no live allocations since attach"));
	assert_non_null(
		strstr(text, "grew   13.8 MiB since attach, 13.8 MiB of it no live blocks"));
	assert_non_null(
		strstr(text, "       12.3 MiB in ?[2Jnew memory\n       1.5 MiB in [heap]\n"));
	assert_non_null(strstr(text, "--mmap"));
	s.growth.mmap_traced = true;
	traced = sample_export("text", &plain, &s, 0);
	assert_non_null(strstr(traced, "grew   13.8 MiB"));
	assert_null(strstr(traced, "--mmap"));
}

static void became_another_program(void **state)
{
	struct export_options options = {.verbose = true};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *verbose = NULL;

	(void)state;
	s.final = s.execed = true;
	text = sample_export("text", &plain, &s, 2);
	assert_non_null(strstr(text, "PID 1234 (shop) became another program by exec; "
				     "1.3 MiB in 1,028 blocks were live\n\n"));
	assert_int_equal(strchr(text, '\n')[2], '\0');
	verbose = sample_export("text", &options, &s, 2);
	assert_non_null(strstr(verbose, "FINAL: became another program by exec ==="));
	assert_non_null(strstr(verbose, "Cart::add"));
	assert_null(strstr(verbose, "tracing stopped"));
}

static void nothing_old_enough(void **state)
{
	struct export_options options = {.show_older = true, .older_ns = 60000000000ULL};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = sample_export("text", &options, &s, 0);

	(void)state;
	assert_non_null(strstr(text, "no stack to show"));
	assert_non_null(strstr(text, "--older"));
	assert_null(strstr(text, "no live allocations"));
}

/*
 * A target chooses its names: none may reach the terminal as an escape sequence, start a line or
 * end the text.
 */
static void hostile_names(void **state)
{
	static const struct frame frame = {
		.function = "f\x1b[2J\r\n=== fake\x7f\xc2\x9b"
			    "31m\xe2\x80\xae",
		.module = "\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
		.file = "/tmp/a\nb\t\x08.c",
		.line = UINT32_MAX,
		.offset = UINT64_MAX,
	};
	static const struct frame good = {
		.function = "gr\xc3\xb6\xc3\x9f\x65_\xe2\x82\xac_\xf0\x9f\xa6\x80",
		.module = "m",
	};
	static const struct frame *const frames[] = {&frame, &good};
	struct stack stack = {.live = {UINT64_MAX, UINT64_MAX}, .frames = frames, .frame_count = 2};
	struct snapshot s = {
		.pid = 1,
		.comm = "\x1b]0;evil\x07\n\xff\xff\xff\xff\xff", /* 16 bytes, no NUL */
		.live = {UINT64_MAX, UINT64_MAX},
		.stacks = &stack,
		.stack_count = 1,
	};
	_cleanup_free_ char *text = NULL;

	(void)state;
	memset(s.comm + 9, 0xff, sizeof(s.comm) - 9);
	text = sample_export("text", &plain, &s, 1);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		assert_true(*c == '\n' || (*c >= ' ' && *c != 0x7f));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\n==="));
	assert_non_null(strstr(text, "f?[2J?"
				     "?=== fake?"
				     "?31m?+0xffffffffffffffff"));
	assert_non_null(strstr(text, "  /tmp/a?b??.c:4294967295"));
	assert_non_null(strstr(text, "gr\xc3\xb6\xc3\x9f\x65_\xe2\x82\xac_\xf0\x9f\xa6\x80+0x0"));
	assert_true(strncmp(text, "===", 3) == 0);
}

static void source_paths(void **state)
{
	static const char *const paths[][2] = {
		{"./malloc/./malloc/malloc.c", "malloc/malloc/malloc.c"},
		{"/usr/src/redis/src/../deps//lua/x.c", "/usr/src/redis/deps/lua/x.c"},
		{"../../src/a.c", "../../src/a.c"},
		{"a/../../b.c", "../b.c"},
		{"/../a.c", "/../a.c"},
		{"/a/b/../../c.c", "/c.c"},
		{"...", "..."},
		{".", "."},
		{"a/..", "a/.."},
		{"", ""},
		{"plain.c", "plain.c"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct frame frame = {.function = "f", .file = paths[i][0]};
		const struct frame *const frames[] = {&frame};
		struct stack stack = {.live = {1, 1}, .frames = frames, .frame_count = 1};
		struct snapshot s = {.stacks = &stack, .stack_count = 1, .live = {1, 1}};
		_cleanup_free_ char *text = sample_export("text", &plain, &s, 1);
		char expected[128];

		snprintf(expected, sizeof(expected), "    f+0x0             %s\n", paths[i][1]);
		if (!strstr(text, expected))
			fail_msg("'%s' came out as: %s", paths[i][0], text);
	}
}

static void sort_by_alloc(void **state)
{
	struct stack stack = {.alloc = {4096, 2}, .free = {4096, 2}};
	struct snapshot s = {.stacks = &stack, .stack_count = 1, .alloc = {4096, 2}};
	_cleanup_free_ char *text = sample_export("text", &plain, &s, 1);

	(void)state;
	assert_non_null(strstr(text, "of 4.0 KiB allocated in 2 calls, 0.0 % still live"));
	assert_non_null(strstr(text, "1 of 1 stack shown\n"));
	assert_non_null(strstr(text, "no live allocations since attach"));
}

static int set_time_zone(void **state)
{
	(void)state;
	if (setenv("TZ", "UTC0", 1))
		return -1;
	tzset();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual),
		cmocka_unit_test(everything),
		cmocka_unit_test(not_clear),
		cmocka_unit_test(few_arenas_and_space),
		cmocka_unit_test(figures_in_words),
		cmocka_unit_test(seldom_kept),
		cmocka_unit_test(first_snapshot),
		cmocka_unit_test(of_a_process_that_tells),
		cmocka_unit_test(nothing_live),
		cmocka_unit_test(grown_unseen),
		cmocka_unit_test(became_another_program),
		cmocka_unit_test(nothing_old_enough),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(source_paths),
		cmocka_unit_test(sort_by_alloc),
	};

	return cmocka_run_group_tests(tests, set_time_zone, NULL);
}
