// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/borrowed_report.h"
#include "user/analysis/rank.h"
#include "user/analysis/rows.h"
#include "user/base/util.h"

static const struct site_rules none;

static const struct frame malloc_ = {.function = "malloc", .module = "libc.so.6"};
/* The same line of a script, interpreted and compiled; and another line of it. */
static const struct frame builtin = {
	.function = "Builtins_CEntry", .module = "node", .module_path = "/usr/bin/node"};
static const struct frame leak = {.kind = FRAME_KIND_JAVASCRIPT,
				  .function = "leak",
				  .module = "e.js",
				  .file = "/e.js",
				  .line = 2};
static const struct frame leak_compiled = {.kind = FRAME_KIND_JAVASCRIPT,
					   .function = "leak",
					   .module = "e.js",
					   .file = "/e.js",
					   .line = 2,
					   .offset = 7,
					   .module_offset = 0x4711};
static const struct frame leak_later = {.kind = FRAME_KIND_JAVASCRIPT,
					.function = "leak",
					.module = "e.js",
					.file = "/e.js",
					.line = 3};
static const struct frame other = {.kind = FRAME_KIND_JAVASCRIPT,
				   .function = "other",
				   .module = "e.js",
				   .file = "/e.js",
				   .line = 9};
/* Without debug information two calls of one function; opendir, called from two places. */
static const struct frame call_a = {
	.function = "fill", .module = "shop", .module_path = "/shop", .module_offset = 0x10};
static const struct frame call_b = {
	.function = "fill", .module = "shop", .module_path = "/shop", .module_offset = 0x20};
static const struct frame opendir_a = {
	.function = "opendir", .module = "libc.so.6", .module_offset = 0x100};
static const struct frame opendir_b = {
	.function = "opendir", .module = "libc.so.6", .module_offset = 0x104};
static const struct frame nameless_a = {
	.module = "shop", .module_path = "/shop", .module_offset = 0x30};
static const struct frame nameless_b = {
	.module = "shop", .module_path = "/shop", .module_offset = 0x40};

#define MAX_FRAMES 4

static const struct {
	const struct frame *frames[MAX_FRAMES];
	/* the rows that it is in, by letters */
	char line, function, file, module;
} known[] = {
	{{&malloc_, &builtin, &leak}, 'a', 'a', 'a', 'a'},
	{{&malloc_, &leak_compiled}, 'a', 'a', 'a', 'a'},
	{{&malloc_, &builtin, &leak_later}, 'b', 'a', 'a', 'a'},
	{{&malloc_, &builtin, &other}, 'c', 'b', 'a', 'a'},
	{{&malloc_, &call_a}, 'd', 'c', 'b', 'b'},
	{{&malloc_, &call_b}, 'e', 'c', 'b', 'b'},
	{{&malloc_, &opendir_a, &nameless_a}, 'f', 'd', 'c', 'c'},
	{{&malloc_, &opendir_b, &nameless_a}, 'f', 'd', 'c', 'c'},
	{{&malloc_, &opendir_a, &nameless_b}, 'g', 'd', 'c', 'c'},
	{{NULL}, 'h', 'e', 'd', 'd'},
};

#define STACKS ARRAY_SIZE(known)

static struct stack stacks[STACKS];

static struct report *report_of_known(struct snapshot *s)
{
	struct report *r;

	for (size_t i = 0; i < STACKS; i++) {
		uint64_t bytes = 1000 + 10 * i * i;
		size_t count = 0;

		while (count < MAX_FRAMES && known[i].frames[count])
			count++;
		stacks[i] = (struct stack){.id = i + 1,
					   .live = {bytes, i + 1},
					   .alloc = {3 * bytes, 4 * i},
					   .free = {2 * bytes, 3 * i},
					   .older = {bytes, i + 1},
					   .oldest_ns = 100 - i,
					   .verdict = {{bytes / 2, 1}},
					   .frames = count ? known[i].frames : NULL,
					   .frame_count = count};
	}
	*s = (struct snapshot){.interval_ns = 1, .stacks = stacks, .stack_count = STACKS};
	snapshot_total(s);
	r = report_borrow(s);
	for (size_t i = 0; i < STACKS; i++) {
		r->notes[i].delta_bytes = (int64_t)i - 3;
		r->notes[i].delta_count = 1;
		r->notes[i].fresh_bytes = i;
	}
	return r;
}

static char letter_of(size_t i, enum site_by by)
{
	return by == BY_LINE	   ? known[i].line
	       : by == BY_FUNCTION ? known[i].function
	       : by == BY_FILE	   ? known[i].file
				   : known[i].module;
}

/* Each row has what it should have, and its numbers are the sums of its stacks'. */
static void check_rows(const struct report *r, enum site_by by)
{
	const struct snapshot *sums = r->rows->sums->snapshot;
	struct amount live = {0};
	size_t seen = 0;

	for (size_t i = 0; i < sums->stack_count; i++) {
		const struct stack *row = &sums->stacks[i];
		const size_t *members;
		size_t count = report_row_stacks(r->rows, row, &members);
		struct stack sum = {0};
		int64_t delta = 0;

		assert_true(count > 0);
		for (size_t k = 0; k < count; k++) {
			const struct stack *stack = &stacks[members[k]];

			assert_int_equal(letter_of(members[k], by), letter_of(members[0], by));
			if (k)
				assert_true(stack->live.bytes <= stacks[members[k - 1]].live.bytes);
			amount_add(&sum.live, &stack->live);
			amount_add(&sum.alloc, &stack->alloc);
			amount_add(&sum.free, &stack->free);
			amount_add(&sum.verdict[0], &stack->verdict[0]);
			if (stack->oldest_ns > sum.oldest_ns)
				sum.oldest_ns = stack->oldest_ns;
			delta += r->notes[members[k]].delta_bytes;
		}
		for (size_t k = 0; k < STACKS; k++)
			count -= letter_of(k, by) == letter_of(members[0], by);
		assert_int_equal(count, 0);
		assert_memory_equal(&row->live, &sum.live, sizeof(sum.live));
		assert_memory_equal(&row->alloc, &sum.alloc, sizeof(sum.alloc));
		assert_memory_equal(&row->free, &sum.free, sizeof(sum.free));
		assert_memory_equal(&row->verdict[0], &sum.verdict[0], sizeof(sum.verdict[0]));
		assert_int_equal(row->oldest_ns, sum.oldest_ns);
		assert_int_equal(r->rows->sums->notes[i].delta_bytes, delta);
		assert_ptr_equal(r->rows->sums->notes[i].frames, stacks[members[0]].frames);
		amount_add(&live, &row->live);
		seen += r->rows->begins[i + 1] - r->rows->begins[i];
	}
	assert_int_equal(seen, STACKS);
	assert_memory_equal(&live, &r->snapshot->live, sizeof(live));
}

static void drop(struct report *r)
{
	report_rows_free(TAKE_PTR(r->rows));
	report_drop(r);
}

static void sums(void **state)
{
	static const struct {
		enum site_by by;
		size_t rows;
	} all[] = {{BY_LINE, 8}, {BY_FUNCTION, 5}, {BY_FILE, 4}, {BY_MODULE, 4}};
	struct snapshot s;
	struct report *r = report_of_known(&s);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(rows_make(r, all[i].by, &none, false, NULL), 0);
		assert_int_equal(r->rows->sums->snapshot->stack_count, all[i].rows);
		check_rows(r, all[i].by);
	}
	assert_int_equal(rows_make(r, BY_STACK, &none, false, NULL), 0);
	assert_null(r->rows);
	drop(r);
}

/* A row keeps its number from report to report, whatever stacks come and go. */
static void same_id(void **state)
{
	struct snapshot s;
	struct report *r = report_of_known(&s);
	const struct stack *top[1];
	uint64_t id;

	(void)state;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(rank_top(r->rows->sums, RANK_COUNT, top, 1), 1);
	id = top[0]->id;
	r->notes[0].hidden = r->notes[1].unwanted = true;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(r->rows->sums->snapshot->stack_count, 7);
	assert_int_equal(rank_top(r->rows->sums, RANK_COUNT, top, 1), 1);
	assert_int_equal(top[0]->id, id);
	drop(r);
}

/* What has no names yet is in no row with others. */
static void not_named_yet(void **state)
{
	struct snapshot s;
	struct report *r = report_of_known(&s);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		r->notes[i].frames = NULL;
	assert_int_equal(rows_make(r, BY_LINE, &none, true, NULL), 0);
	assert_int_equal(r->rows->sums->snapshot->stack_count, 4 + 5);
	drop(r);
}

/* What is known of a stack is not found out again: its frames may be gone. */
static void known_rows(void **state)
{
	struct rows_known rows = {0};
	struct snapshot s;
	struct report *r = report_of_known(&s);

	(void)state;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, &rows), 0);
	check_rows(r, BY_LINE);
	assert_int_equal(rows.count, STACKS);
	for (size_t i = 0; i < 4; i++)
		r->notes[i].frame_count = 0;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, &rows), 0);
	assert_int_equal(r->rows->sums->snapshot->stack_count, 8);
	assert_int_equal(rows.count, STACKS);
	rows_known_release(&rows);
	drop(r);
}

static void by_scope(void **state)
{
	struct snapshot s;
	struct report *r = report_of_known(&s);

	(void)state;
	s.scopes.count = 2;
	for (size_t i = 0; i < STACKS; i++)
		stacks[i].scope = i % 3;
	assert_int_equal(rows_make(r, BY_SCOPE, &none, false, NULL), 0);
	assert_int_equal(r->rows->sums->snapshot->stack_count, 3);
	drop(r);
}

/* What grows in one stack and shrinks in another grows by the difference. */
static void trends(void **state)
{
	struct snapshot s;
	struct report *r = report_of_known(&s);
	const size_t *members;

	(void)state;
	r->notes[0].trend = (struct trend){.kind = TREND_GROWING,
					   .growth_known = true,
					   .growth = 10,
					   .leaking = true,
					   .reason = "a"};
	r->notes[1].trend =
		(struct trend){.kind = TREND_SHRINKING, .growth_known = true, .growth = -4};
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(report_row_stacks(r->rows, &r->rows->sums->snapshot->stacks[0], &members),
			 2);
	assert_int_equal(r->rows->sums->notes[0].trend.kind, TREND_GROWING);
	assert_true(r->rows->sums->notes[0].trend.growth == 6);
	assert_true(r->rows->sums->notes[0].trend.leaking);
	r->notes[1].trend.growth = -12;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(r->rows->sums->notes[0].trend.kind, TREND_UNKNOWN);
	assert_false(r->rows->sums->notes[0].trend.leaking);
	drop(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),		 cmocka_unit_test(same_id),
		cmocka_unit_test(not_named_yet), cmocka_unit_test(known_rows),
		cmocka_unit_test(by_scope),	 cmocka_unit_test(trends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
