// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What analysis makes of two snapshots, as each format of a comparison prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/analysis/diff.h"
#include "user/base/util.h"
#include "user/export/compare.h"

static const struct export_options plain;

static void compared(void **state)
{
	struct diff *diff = diff_new();
	struct stack later[SAMPLE_STACKS];
	struct snapshot old = sample_snapshot(), now = old;
	struct report *before, *after;
	const struct comparison *c;
	_cleanup_free_ char *text = NULL, *folded_text = NULL, *json = NULL;
	struct frame moved = sample_caller;
	const struct frame *const frames[] = {&sample_malloc, &sample_inlined, &moved};
	size_t len;
	FILE *out;

	(void)state;
	/* Rebuilt: other lines and addresses, the same names. */
	moved.line = 50;
	moved.offset = 0x99;
	moved.module_offset = 0x9999;
	memcpy(later, sample_stacks, sizeof(later));
	later[0].id = 99;
	later[0].frames = frames;
	later[0].live.bytes += 5000;
	later[0].live.count += 5;
	later[1].live = (struct amount){0};
	now.stacks = later;
	now.pid = 4321;
	before = report_borrow(&old);
	after = report_borrow(&now);
	assert_int_equal(diff_add(diff, before, false), 0);
	assert_int_equal(diff_add(diff, after, true), 0);
	report_drop(before);
	report_drop(after);
	c = diff_finish(diff, false);
	assert_int_equal(c->stack_count, 3);
	assert_int_equal(c->grown, 1);
	assert_int_equal(c->gone, 1);
	assert_int_equal(c->same, 1);
	assert_int_equal(c->fresh + c->shrunk, 0);
	out = open_memstream(&text, &len);
	assert_int_equal(compare_text(out, &plain, c, 10), 0);
	fclose(out);
	assert_true(sample_matches("diff-usual.txt", text));
	out = open_memstream(&folded_text, &len);
	assert_int_equal(compare_folded(out, &plain, c, 10), 0);
	fclose(out);
	assert_non_null(strstr(folded_text, "malloc 1363148 1368148\n"));
	assert_non_null(strstr(folded_text, "malloc 4096 0\n"));
	out = open_memstream(&json, &len);
	assert_int_equal(compare_json(out, &plain, c, 10), 0);
	fclose(out);
	assert_non_null(strstr(json, "\"delta\":{\"bytes\":904,\"count\":4}"));
	assert_non_null(strstr(json, "\"change\":\"gone\""));
	diff_free(diff);
}

/* A function of the same name in another script is another one, and in another line the same. */
static void scripts(void **state)
{
	const struct frame here = frame_managed(FRAME_KIND_PYTHON, "<module>", "/srv/a.py", 1);
	const struct frame lower = frame_managed(FRAME_KIND_PYTHON, "<module>", "/srv/a.py", 9);
	const struct frame there = frame_managed(FRAME_KIND_PYTHON, "<module>", "/srv/b.py", 1);
	const struct frame native = {.function = "<module>"};
	const struct frame *const frames[] = {&here, &lower, &there, &native};
	struct stack stacks[ARRAY_SIZE(frames)] = {{0}};
	struct snapshot s = sample_snapshot();
	struct diff *diff = diff_new();
	const struct comparison *c;
	struct report *report;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		stacks[i] = (struct stack){
			.id = i, .live = {1, 1}, .frames = &frames[i], .frame_count = 1};
	s.stacks = stacks;
	s.stack_count = ARRAY_SIZE(frames);
	report = report_borrow(&s);
	assert_int_equal(diff_add(diff, report, true), 0);
	report_drop(report);
	c = diff_finish(diff, false);
	assert_int_equal(c->stack_count, 3);
	assert_int_equal(c->stacks[0].now.count, 2);
	diff_free(diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(compared), cmocka_unit_test(scripts)};

	/* Golden texts hold times of day. */
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
