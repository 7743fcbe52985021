// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "bpf/lost_cause.h"
#include "user/analysis/merge.h"
#include "user/base/util.h"

static const struct frame frame = {.function = "f"};
static const struct frame *const frames[] = {&frame};

static struct stack stack_of(uint64_t id, uint64_t bytes)
{
	return (struct stack){.id = id,
			      .live = {bytes, 1},
			      .alloc = {2 * bytes, 2},
			      .free = {bytes, 1},
			      .older = {bytes, 1},
			      .error_bytes = 3,
			      .oldest_ns = bytes};
}

static struct report *report_of(const struct snapshot *s)
{
	struct report *r = report_borrow(s);

	for (size_t i = 0; i < s->stack_count; i++) {
		r->notes[i].delta_bytes = 1;
		r->notes[i].delta_count = -1;
		r->notes[i].hidden = true;
	}
	return r;
}

static const struct stack *find(const struct snapshot *s, uint64_t id)
{
	const struct stack *found = NULL;

	for (size_t i = 0; i < s->stack_count; i++) {
		if (s->stacks[i].id != id)
			continue;
		assert_null(found);
		found = &s->stacks[i];
	}
	assert_non_null(found);
	return found;
}

static void test_sum(void **state)
{
	struct stack a[] = {stack_of(1, 10), stack_of(2, 20)};
	struct stack b[] = {stack_of(3, 300), stack_of(2, 200), stack_of(0, 5)};
	const struct snapshot first = {.pid = 7,
				       .comm = "server",
				       .attached = ATTACHED_BY_SESSION,
				       .elapsed_ns = 5,
				       .stacks = a,
				       .stack_count = ARRAY_SIZE(a),
				       .unknown_frees = 1,
				       .lost = {[LOST_LIVE_FULL] = 10, [LOST_EVENTS] = 4},
				       .lost_anywhere = {[LOST_EVENTS] = 4},
				       .memory = {.rss = 100}};
	const struct snapshot second = {.pid = 8,
					.comm = "server",
					.attached = ATTACHED_BY_USDT,
					.sample_bytes = 65536,
					.elapsed_ns = 3,
					.stacks = b,
					.stack_count = ARRAY_SIZE(b),
					.exited = true,
					.final = true,
					.lost = {[LOST_LIVE_FULL] = 20, [LOST_EVENTS] = 4},
					.lost_anywhere = {[LOST_EVENTS] = 4}};
	struct report *both[2], *report;
	const struct snapshot *sum;
	const struct stack *shared;

	(void)state;
	b[1].frames = frames;
	b[1].frame_count = 1;
	/* Of a verdict that was asked for by a signal; the sum neither has nor frees it. */
	a[0].held_by = strdup("a global");
	a[0].contents = strdup("x");
	both[0] = report_of(&first);
	both[1] = report_of(&second);
	assert_int_equal(merge_reports((const struct report *const *)both, 2, NULL, &report), 0);
	sum = report->snapshot;
	assert_int_equal(sum->stack_count, 4);
	assert_int_equal(sum->live.bytes, 535);
	assert_int_equal(sum->live.count, 5);
	assert_int_equal(sum->alloc.bytes, 1070);
	assert_int_equal(sum->free.bytes, 535);
	assert_int_equal(report->delta_bytes, 5);
	assert_int_equal(report->delta_count, -5);
	assert_int_equal(sum->processes, 2);
	assert_int_equal(sum->ended, 1);
	assert_false(sum->exited);
	assert_false(sum->final);
	assert_int_equal(sum->pid, 7);
	assert_string_equal(sum->comm, "server");
	assert_int_equal(sum->elapsed_ns, 5);
	assert_int_equal(sum->unknown_frees, 1);
	/* One part of it is an estimate, and there is no one way that all was seen. */
	assert_int_equal(sum->sample_bytes, 65536);
	assert_int_equal(sum->attached, ATTACHED_BY_UNKNOWN);
	assert_int_equal(sum->memory.rss, 100);
	assert_int_equal(sum->lost[LOST_LIVE_FULL], 30);
	assert_int_equal(sum->lost[LOST_EVENTS], 4); /* those of both are the same four */
	shared = find(sum, 2);
	assert_int_equal(shared->live.bytes, 220);
	assert_int_equal(shared->alloc.count, 4);
	assert_int_equal(shared->older.bytes, 220);
	assert_int_equal(shared->oldest_ns, 200);
	assert_true(fabs(shared->error_bytes - sqrt(18)) < 1e-9);
	assert_int_equal(shared->index, 0);
	assert_false(report_notes(report, shared)->hidden);
	assert_ptr_equal(report_notes(report, shared)->frames, frames);
	assert_int_equal(find(sum, 3)->index, 1);
	for (size_t i = 0; i < sum->stack_count; i++)
		assert_true(!sum->stacks[i].held_by && !sum->stacks[i].contents);
	find(sum, 0);
	report_free(report);
	report_drop(both[0]);
	report_drop(both[1]);
	free(a[0].held_by);
	free(a[0].contents);
}

/* What is not known of one process is not known of the sum. */
static void test_figures(void **state)
{
	struct stack_figures one = {.lifetimes = {1}, .temporary = {2, 2}};
	struct stack_figures other[2] = {{.lifetimes = {2}}, {.lifetimes = {4}}};
	struct stack a = stack_of(1, 10), b[] = {stack_of(1, 10), stack_of(2, 10)};
	const struct snapshot first = {.comm = "x",
				       .stacks = &a,
				       .stack_count = 1,
				       .figures = &one,
				       .figures_kept = {.lifetimes = true, .temporary = true}};
	const struct snapshot second = {.comm = "x",
					.stacks = b,
					.stack_count = 2,
					.figures = other,
					.figures_kept = {.lifetimes = true}};
	struct report *both[2], *report;

	(void)state;
	a.figures = &one;
	b[0].figures = &other[0];
	b[1].figures = &other[1];
	both[0] = report_of(&first);
	both[1] = report_of(&second);
	assert_int_equal(merge_reports((const struct report *const *)both, 2, NULL, &report), 0);
	assert_true(report->snapshot->figures_kept.lifetimes);
	assert_false(report->snapshot->figures_kept.temporary);
	assert_int_equal(find(report->snapshot, 1)->figures->lifetimes[0], 3);
	assert_int_equal(find(report->snapshot, 2)->figures->lifetimes[0], 4);
	assert_int_equal(one.lifetimes[0], 1);
	report_free(report);
	report_drop(both[0]);
	report_drop(both[1]);
}

/* A process of which it is not known how much there is leaves the sum unknown, in whatever order. */
static void test_heaps(void **state)
{
	struct snapshot one[] = {
		{.comm = "x", .heaps = {1u << UNTRACED_V8, {[UNTRACED_V8] = 10}}},
		{.comm = "x",
		 .heaps = {1u << UNTRACED_V8 | 1u << UNTRACED_GO,
			   {[UNTRACED_V8] = 20, [UNTRACED_GO] = 0}}},
		{.comm = "x", .heaps = {1u << UNTRACED_GO, {[UNTRACED_GO] = 5}}},
		{.comm = "x"},
	};
	struct report *report[ARRAY_SIZE(one)], *first, *sum;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(one); i++)
		report[i] = report_borrow(&one[i]);
	for (int round = 0; round < 2; round++) {
		const struct untraced_heaps *heaps;

		assert_int_equal(merge_reports((const struct report *const *)report,
					       ARRAY_SIZE(one), NULL, &sum),
				 0);
		heaps = &sum->snapshot->heaps;
		assert_int_equal(heaps->kinds, 1u << UNTRACED_V8 | 1u << UNTRACED_GO);
		assert_int_equal(heaps->bytes[UNTRACED_V8], 30);
		assert_int_equal(heaps->bytes[UNTRACED_GO], 0);
		assert_int_equal(heaps->bytes[UNTRACED_JAVA], 0);
		report_free(sum);
		/* The unknown one last. */
		first = report[1];
		report[1] = report[2];
		report[2] = first;
	}
	for (size_t i = 0; i < ARRAY_SIZE(one); i++)
		report_drop(report[i]);
}

/* Sums can be summed up again: those that have ended come one by one. */
static void test_sum_of_sums(void **state)
{
	struct stack a[] = {stack_of(1, 10)};
	const struct snapshot one = {
		.comm = "x", .stacks = a, .stack_count = 1, .exited = true, .final = true};
	struct report *first = report_borrow(&one), *last, *next;
	const struct report *list[] = {first, NULL};
	const struct snapshot *sum;

	(void)state;
	assert_int_equal(merge_reports(list, 1, NULL, &last), 0);
	for (int i = 0; i < 9; i++) {
		list[1] = last;
		assert_int_equal(merge_reports(list, 2, NULL, &next), 0);
		report_free(last);
		last = next;
	}
	sum = last->snapshot;
	assert_int_equal(sum->processes, 10);
	assert_int_equal(sum->ended, 10);
	assert_true(sum->exited && sum->final);
	assert_int_equal(sum->live.bytes, 100);
	assert_int_equal(sum->stack_count, 1);
	report_free(last);
	report_drop(first);
}

/* What guarded blocks have shown is one by its stacks, in all processes. */
static void test_guards(void **state)
{
	const struct reported_call alloc = {.known = true, .stack_id = 1},
				   touch = {.known = true,
					    .stack_id = 2,
					    .frames = frames,
					    .frame_count = 1};
	struct misuse some[] =
		{{.finder = MISUSE_BY_GUARD, .kind = MISUSE_OVERFLOW, .count = 3, .thread = 7},
		 {.finder = MISUSE_BY_GUARD, .kind = MISUSE_UNDERFLOW, .count = 1}},
		      others[] = {{.finder = MISUSE_BY_GUARD,
				   .kind = MISUSE_UNDERFLOW,
				   .count = 5,
				   .thread = 8},
				  {.finder = MISUSE_BY_GUARD, .kind = MISUSE_OVERFLOW, .count = 2}};
	struct snapshot a = {.comm = "x",
			     .guard = {.asked = true,
				       .on = true,
				       .period = 10,
				       .places = 64,
				       .guarded = 5,
				       .amid = 2,
				       .unseen = 3,
				       .oldest_free_ms = 70},
			     .misuses = {[MISUSE_BY_GUARD] = {some, 2}}},
			b = {.comm = "x",
			     .guard = {.asked = true,
				       .reason = "why not",
				       .period = 10,
				       .guarded = 6,
				       .amid = 1,
				       .unseen = 4,
				       .oldest_free_ms = 30},
			     .misuses = {[MISUSE_BY_GUARD] = {others, 2}}};
	struct report *list[2], *sum;
	const struct misuse *bad;

	(void)state;
	for (int i = 0; i < 2; i++) {
		some[i].calls[MISUSE_CALL_ALLOC] = others[i].calls[MISUSE_CALL_ALLOC] = alloc;
		some[i].calls[MISUSE_CALL_NOW] = others[i].calls[MISUSE_CALL_NOW] = touch;
	}
	/* That one was touched elsewhere. */
	others[1].calls[MISUSE_CALL_NOW].stack_id = 3;
	list[0] = report_borrow(&a);
	list[1] = report_borrow(&b);
	assert_int_equal(merge_reports((const struct report *const *)list, 2, NULL, &sum), 0);
	bad = sum->misuses[MISUSE_BY_GUARD].items;
	assert_int_equal(sum->snapshot->misuses[MISUSE_BY_GUARD].count, 3);
	assert_int_equal(bad[0].count, 3);
	assert_int_equal(bad[0].thread, 7);
	assert_int_equal(bad[1].count, 2);
	assert_int_equal(bad[1].calls[MISUSE_CALL_NOW].stack_id, 3);
	assert_int_equal(bad[2].kind, MISUSE_UNDERFLOW);
	assert_int_equal(bad[2].count, 6);
	assert_ptr_equal(bad[2].calls[MISUSE_CALL_NOW].frames, frames);
	assert_true(sum->snapshot->guard.asked && sum->snapshot->guard.on);
	assert_string_equal(sum->snapshot->guard.reason, "why not");
	assert_int_equal(sum->snapshot->guard.period, 10);
	assert_int_equal(sum->snapshot->guard.places, 64);
	assert_int_equal(sum->snapshot->guard.guarded, 11);
	assert_int_equal(sum->snapshot->guard.amid, 3);
	assert_int_equal(sum->snapshot->guard.unseen, 7);
	assert_int_equal(sum->snapshot->guard.oldest_free_ms, 30);
	report_free(sum);
	report_drop(list[0]);
	report_drop(list[1]);
}

static void test_same_program(void **state)
{
	const struct snapshot a = {.comm = "server"}, b = {.comm = "server"}, c = {.comm = "serve"};

	(void)state;
	assert_true(merge_same_program(&a, &b));
	assert_false(merge_same_program(&a, &c));
}

/* The scopes of one process stand otherwise than those of another, and some only it has. */
static void test_scopes(void **state)
{
	struct stack a[] = {stack_of(1, 10), stack_of(2, 20)}, b[] = {stack_of(2, 30)};
	struct snapshot first = {.stacks = a, .stack_count = 2, .scoped = true};
	struct snapshot second = {.stacks = b, .stack_count = 1, .scoped = true};
	const struct snapshot *sum;
	struct report *both[2], *report;
	const struct scope *put;

	(void)state;
	assert_non_null(scopes_list_get(&first.scopes, "serve", "GET"));
	scopes_list_get(&first.scopes, "serve", "PUT")->calls = 3;
	scopes_list_get(&second.scopes, "serve", "PUT")->calls = 4;
	scopes_list_find(&second.scopes, "serve", "PUT")->time_max_ns = 9;
	a[1].scope = 2;
	b[0].scope = 1;
	both[0] = report_of(&first);
	both[1] = report_of(&second);
	assert_int_equal(merge_reports((const struct report *const *)both, 2, NULL, &report), 0);
	sum = report->snapshot;
	assert_true(sum->scoped);
	assert_int_equal(sum->scopes.count, 2);
	put = scopes_list_find(&sum->scopes, "serve", "PUT");
	assert_non_null(put);
	assert_int_equal(put->calls, 7);
	assert_int_equal(put->time_max_ns, 9);
	assert_int_equal(find(sum, 1)->scope, 0);
	assert_ptr_equal(&sum->scopes.items[find(sum, 2)->scope - 1], put);
	report_free(report);
	report_drop(both[0]);
	report_drop(both[1]);
	scopes_list_release(&first.scopes);
	scopes_list_release(&second.scopes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guards),	     cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_sum),	     cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_figures),	     cmocka_unit_test(test_sum_of_sums),
		cmocka_unit_test(test_same_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
