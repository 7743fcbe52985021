// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a verdict looks like as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"

static void check_report(const struct report *r, const char *format, const char *golden)
{
	const struct export_options options = {0};
	char *text = sample_export_report(format, &options, r, 2);

	assert_non_null(text);
	assert_true(sample_matches(golden, text));
	free(text);
}

static void check(const struct snapshot *s, const char *format, const char *golden)
{
	struct report *r = sample_report(s);

	check_report(r, format, golden);
	report_drop(r);
}

static void taken(void **state)
{
	struct snapshot s = sample_snapshot();
	struct stack stacks[SAMPLE_STACKS];
	struct report *r;

	(void)state;
	memcpy(stacks, sample_stacks, sizeof(stacks));
	s.stacks = stacks;
	stacks[0].verdict[VERDICT_DEFINITE] = (struct amount){1363148, 1023};
	stacks[0].verdict[VERDICT_REACHABLE] = (struct amount){4000, 1};
	stacks[1].verdict[VERDICT_POSSIBLE] = (struct amount){stacks[1].live.bytes, 1};
	s.verdict = (struct verdict){
		.state = VERDICT_TAKEN,
		.classes = {{1363148, 1023}, {0, 0}, {96, 1}, {4000, 4}},
		.before = {{48, 1}, {0, 0}, {0, 0}, {8 << 20, 4096}},
		.pause_ns = 12345678,
		.total_ns = 98765432,
		.read_bytes = 5 << 20,
		.unknown_bytes = 3 << 20,
		.unread_bytes = 4096,
		.approximate = true,
	};
	check(&s, "text", "text-verdict.txt");
	check(&s, "json", "json-verdict.json");
	check(&s, "folded", "folded-verdict.txt");
	/* What a suppression or --leak-only has hidden is in no format that takes every stack. */
	r = sample_report(&s);
	r->notes[0].hidden = true;
	check_report(r, "folded", "folded-hidden.txt");
	report_drop(r);
}

/*
 * Memory that grows and is not lost is told as what it is, with what holds it; what is lost is not
 * called kept.
 */
static void filling(void **state)
{
	const struct export_options options = {0};
	struct snapshot s = sample_snapshot();
	struct stack stacks[SAMPLE_STACKS];
	struct report *r;
	char *text;

	(void)state;
	memcpy(stacks, sample_stacks, sizeof(stacks));
	s.stacks = stacks;
	s.verdict.state = VERDICT_TAKEN;
	r = sample_report(&s);
	r->notes[0].trend = (struct trend){.kind = TREND_GROWING, .growth = 1};
	r->notes[0].delta_bytes = 0;
	stacks[0].verdict[VERDICT_REACHABLE] = stacks[0].live;
	stacks[0].held_by = "cache (server)";
	text = sample_export_report("text", &options, r, 1);
	assert_non_null(strstr(text, "    still pointed to, and ever more of it"));
	assert_non_null(strstr(text, "    held by cache (server)\n"));
	free(text);
	stacks[0].verdict[VERDICT_REACHABLE] = (struct amount){0};
	stacks[0].verdict[VERDICT_DEFINITE] = stacks[0].live;
	text = sample_export_report("text", &options, r, 1);
	assert_null(strstr(text, "ever more of it"));
	free(text);
	report_drop(r);
}

static void refused(void **state)
{
	struct snapshot s = sample_snapshot();

	(void)state;
	s.verdict = (struct verdict){
		.state = VERDICT_REFUSED,
		.reason = "another program traces it (a debugger, strace)",
	};
	check(&s, "text", "text-verdict-refused.txt");
	check(&s, "json", "json-verdict-refused.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken),
		cmocka_unit_test(filling),
		cmocka_unit_test(refused),
	};

	if (setenv("TZ", "UTC0", 1))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
