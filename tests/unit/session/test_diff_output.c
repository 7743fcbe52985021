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

/* Two stacks of one site, one of which grows and one shrinks; rebuilt, it is the same row. */
static void rows(void **state)
{
	static const struct frame other = {.function = "Cart::load()", .module = "shop"};
	const struct frame *const by_other[] = {&sample_malloc, &sample_caller, &other};
	struct frame moved = sample_caller;
	const struct frame *const rebuilt[] = {&sample_malloc, &sample_inlined, &moved};
	struct stack older[2] = {sample_stacks[0], sample_stacks[0]}, later[2];
	struct snapshot old = sample_snapshot(), now = old;
	struct diff *diff = diff_new(BY_FUNCTION, NULL), *alone = diff_new(BY_FUNCTION, NULL);
	struct report *before, *after;
	const struct comparison *c;
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	moved.line = 50;
	older[1].id = 1;
	older[1].frames = by_other;
	older[1].live = (struct amount){5000, 5};
	memcpy(later, older, sizeof(later));
	later[0].frames = rebuilt;
	later[0].id = 2;
	later[0].live.bytes += 1000;
	later[1].live.bytes -= 300;
	old.stacks = older;
	now.stacks = later;
	old.stack_count = now.stack_count = 2;
	before = report_borrow(&old);
	after = report_borrow(&now);
	assert_int_equal(diff_add(diff, before, false), 0);
	assert_int_equal(diff_add(diff, after, true), 0);
	c = diff_finish(diff, false);
	assert_int_equal(c->stack_count, 1);
	assert_true(c->stacks[0].several);
	assert_int_equal(c->stacks[0].old.bytes, older[0].live.bytes + older[1].live.bytes);
	assert_int_equal(c->stacks[0].now.bytes - c->stacks[0].old.bytes, 700);
	out = open_memstream(&text, &len);
	assert_int_equal(compare_text(out, &plain, c, 10), 0);
	fclose(out);
	assert_non_null(strstr(text, "    Cart::add(..)  cart.cc:50: several stacks; the largest:\n"
				     "    malloc"));
	/* The same names, and other addresses: one stack. */
	old.stack_count = now.stack_count = 1;
	assert_int_equal(diff_add(alone, before, false), 0);
	assert_int_equal(diff_add(alone, after, true), 0);
	c = diff_finish(alone, false);
	assert_int_equal(c->stack_count, 1);
	assert_false(c->stacks[0].several);
	report_drop(before);
	report_drop(after);
	diff_free(diff);
	diff_free(alone);
}

static void compared(void **state)
{
	struct diff *diff = diff_new(BY_STACK, NULL);
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
	struct diff *diff = diff_new(BY_STACK, NULL);
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

static struct misuse a_bad_access(enum misuse_kind kind, enum access_mode mode, uint64_t count)
{
	const struct reported_call call = {
		.known = true, .frames = sample_frames_a, .frame_count = 3};
	struct misuse bad = {.finder = MISUSE_BY_GUARD,
			     .kind = kind,
			     .mode = mode,
			     .count = count,
			     .address = 0x1008,
			     .block = 0x1000,
			     .size = 64,
			     .thread = 7,
			     .comm = "shop",
			     .value = -1,
			     .calls = {[MISUSE_CALL_ALLOC] = call, [MISUSE_CALL_NOW] = call}};

	if (kind == MISUSE_USE_AFTER_FREE)
		bad.calls[MISUSE_CALL_FREE] = call;
	/* It touches by itself, and no allocator of its does. */
	bad.calls[MISUSE_CALL_NOW].frames = sample_frames_a + 2;
	bad.calls[MISUSE_CALL_NOW].frame_count = 1;
	return bad;
}

/* The new with its stacks, of the others where they are; and that nothing was guarded is no absence. */
static void accesses(void **state)
{
	struct misuse before[] = {a_bad_access(MISUSE_USE_AFTER_FREE, ACCESS_READ, 3),
				  a_bad_access(MISUSE_OVERFLOW, ACCESS_WRITE, 1)};
	struct misuse after[] = {a_bad_access(MISUSE_USE_AFTER_FREE, ACCESS_READ, 1200),
				 a_bad_access(MISUSE_OVERFLOW, ACCESS_READ, 1),
				 a_bad_access(MISUSE_UNDERFLOW, ACCESS_WRITE, 2)};
	struct snapshot old = sample_snapshot(), now = old, none = old;
	_cleanup_free_ char *text = NULL, *few = NULL, *json = NULL, *one = NULL;
	struct diff *diff = diff_new(BY_STACK, NULL), *unguarded = diff_new(BY_STACK, NULL);
	const struct export_options verbose = {.verbose = true};
	struct report *reports[3];
	const struct comparison *c;
	size_t len;
	FILE *out;

	(void)state;
	old.guard = (struct guard_state){.asked = true, .guarded = 1, .lost = 2};
	old.misuses[MISUSE_BY_GUARD] = (struct misuse_list){before, ARRAY_SIZE(before)};
	now.guard = (struct guard_state){.asked = true, .guarded = 123456};
	now.misuses[MISUSE_BY_GUARD] = (struct misuse_list){after, ARRAY_SIZE(after)};
	reports[0] = report_borrow(&old);
	reports[1] = report_borrow(&now);
	reports[2] = report_borrow(&none);
	assert_int_equal(diff_add(diff, reports[0], false), 0);
	assert_int_equal(diff_add(diff, reports[1], true), 0);
	assert_int_equal(diff_add(unguarded, reports[2], false), 0);
	assert_int_equal(diff_add(unguarded, reports[1], true), 0);
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		report_drop(reports[i]);
	c = diff_finish(diff, false);
	out = open_memstream(&text, &len);
	assert_int_equal(compare_text(out, &plain, c, 10), 0);
	fclose(out);
	assert_true(sample_matches("diff-guard.txt", text));
	out = open_memstream(&few, &len);
	assert_int_equal(compare_text(out, &verbose, c, 1), 0);
	fclose(out);
	assert_non_null(strstr(few, "\nbad    and 1 more (-T)\n"));
	/* -v: all stacks of all. */
	assert_non_null(strstr(few, "inside a freed 64-byte block\n  read\n"));
	out = open_memstream(&json, &len);
	assert_int_equal(compare_json(out, &plain, c, 1), 0);
	fclose(out);
	assert_true(sample_matches("diff-guard.json", json));
	out = open_memstream(&one, &len);
	assert_int_equal(compare_text(out, &plain, diff_finish(unguarded, false), 10), 0);
	fclose(out);
	assert_non_null(strstr(one, "\nguard  no blocks were guarded there\nnew "));
	diff_free(diff);
	diff_free(unguarded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(compared), cmocka_unit_test(rows),
					   cmocka_unit_test(scripts), cmocka_unit_test(accesses)};

	/* Golden texts hold times of day. */
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
