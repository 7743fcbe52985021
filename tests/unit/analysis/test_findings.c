// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is said of a report: each sentence follows from the figures, and none from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "tests/unit/borrowed_report.h"
#include "user/analysis/findings.h"
#include "user/analysis/leaks.h"
#include "user/analysis/rows.h"
#include "user/base/util.h"

static const struct site_rules none;

static const struct frame malloc_ = {.function = "malloc", .module = "libc.so.6"};
static const struct frame arena = {.kind = FRAME_KIND_ARENA, .function = "arena growth"};
static const struct frame cart = {.function = "Cart::add(Order const&)",
				  .module = "shop",
				  .module_path = "/srv/shop",
				  .file = "src/cart.cc",
				  .line = 42};
static const struct frame basket = {.kind = FRAME_KIND_PYTHON,
				    .function = "Basket.put",
				    .module = "shop.py",
				    .file = "/srv/shop.py",
				    .line = 7};
static const struct frame cloned = {
	.function = "(anonymous namespace)::Shop::sell() [clone .constprop.0]",
	.module = "shop",
	.module_path = "/srv/shop"};
static const struct frame clone_of_c = {
	.function = "parse.isra.0", .module = "shop", .module_path = "/srv/shop"};
static const struct frame nameless = {
	.module = "shop", .module_path = "/srv/shop", .offset = 0x1a0, .module_offset = 0x1a0};

static const struct frame *const of_cart[] = {&malloc_, &cart};
static const struct frame *const of_basket[] = {&malloc_, &basket};
static const struct frame *const of_arena[] = {&arena, &basket};
static const struct frame lambda = {.function = "subscribe::(anonymous)::<lambda>",
				    .module = "shop",
				    .module_path = "/srv/shop"};
static const struct frame library = {
	.function = "pool", .module = "libssl.so.3", .module_path = "/usr/lib/libssl.so.3"};
static const struct frame *const of_lambda[] = {&malloc_, &lambda};
static const struct frame *const of_library[] = {&malloc_, &library};
static const struct frame *const of_cloned[] = {&malloc_, &cloned};
static const struct frame *const of_clone_of_c[] = {&malloc_, &clone_of_c};
static const struct frame *const of_nameless[] = {&malloc_, &nameless};

static struct stack stack_of(uint64_t id, const struct frame *const *frames, uint64_t bytes,
			     uint64_t count)
{
	return (struct stack){.id = id,
			      .live = {bytes, count},
			      .alloc = {bytes, count},
			      .older = {bytes, count},
			      .verdict = {[VERDICT_REACHABLE] = {bytes, count}},
			      .frames = frames,
			      .frame_count = 2};
}

/* So many bytes and blocks of it are lost, and so much of other stacks hangs on them. */
static void lose(struct stack *stack, uint64_t bytes, uint64_t count, uint64_t kept,
		 uint64_t kept_count)
{
	stack->verdict[VERDICT_DEFINITE] = (struct amount){bytes, count};
	stack->verdict[VERDICT_REACHABLE].bytes -= bytes;
	stack->verdict[VERDICT_REACHABLE].count -= count;
	stack->kept = (struct amount){kept, kept_count};
}

static struct snapshot snapshot_of(struct stack *stacks, size_t count)
{
	struct snapshot s = {.pid = 12,
			     .final = true,
			     .exited = true,
			     .end = {.cause = END_EXIT},
			     .elapsed_ns = 1000000000,
			     .stacks = stacks,
			     .stack_count = count};

	snapshot_total(&s);
	for (size_t i = 0; i < count; i++) {
		for (int class = 0; class < VERDICT_CLASSES; class ++)
			amount_add(&s.verdict.classes[class], &stacks[i].verdict[class]);
	}
	return s;
}

static struct report *say_older(const struct snapshot *s, const struct trend *trends, bool older)
{
	struct report *r = report_borrow(s);

	for (size_t i = 0; trends && i < s->stack_count; i++)
		r->notes[i].trend = trends[i];
	leaks_find_hanging(r);
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(findings_of_report(r, older, &none), 0);
	return r;
}

static struct report *say(const struct snapshot *s)
{
	return say_older(s, NULL, false);
}

/* All that is said, a line each, with its kind in front. */
static char *said(const struct findings *f)
{
	size_t len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (size_t i = 0; i < f->count; i++)
		fprintf(out, "%s: %s\n", finding_kind_name(f->items[i].kind), f->items[i].text);
	fclose(out);
	return text;
}

static void expect(const struct findings *f, const char *expected)
{
	char *text = said(f);

	assert_string_equal(text, expected);
	free(text);
}

static void expect_of(const struct snapshot *s, const char *expected)
{
	struct report *r = say(s);

	expect(r->findings, expected);
	report_drop(r);
}

static void who_has_most(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7), stack_of(2, of_basket, 250, 1),
				 stack_of(3, of_nameless, 50, 1)};
	struct snapshot s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	struct report *r = say(&s);
	const struct finding *first = &r->findings->items[0];

	(void)state;
	expect(r->findings,
	       "most: Cart::add (cart.cc:42) has 70.0 % of what is live: 700 B in 7 blocks\n"
	       "most: Basket.put (shop.py:7) has 25.0 % of what is live: 250 B in 1 block\n"
	       "next: next: --verdict tells, as it exits, which of it is lost\n");
	assert_int_equal(first->bytes, 700);
	assert_true(first->share > 0.6999 && first->share < 0.7001);
	assert_string_equal(first->where.function, "Cart::add(Order const&)");
	assert_string_equal(first->where.file, "src/cart.cc");
	assert_string_equal(first->where.module, "shop");
	assert_int_equal(first->where.line, 42);
	report_drop(r);
	/* As a person says them. */
	stacks[0] = stack_of(1, of_cloned, 60, 7);
	stacks[1] = stack_of(2, of_clone_of_c, 40, 1);
	s = snapshot_of(stacks, 2);
	s.end.cause = END_SIGNAL;
	expect_of(&s, "most: Shop::sell (shop) has 60.0 % of what is live: 60 B in 7 blocks\n"
		      "most: parse (shop) has 40.0 % of what is live: 40 B in 1 block\n");
	/* A library's second place is no news. */
	stacks[0] = stack_of(1, of_lambda, 60, 7);
	stacks[1] = stack_of(2, of_library, 40, 1);
	s = snapshot_of(stacks, 2);
	s.end.cause = END_SIGNAL;
	expect_of(
		&s,
		"most: subscribe::<lambda> (shop) has 60.0 % of what is live: 60 B in 7 blocks\n");
	/* One that has a name only by its place; an estimate. */
	s = snapshot_of(&stacks[2], 1);
	s.sample_bytes = 1024;
	s.end.cause = END_SIGNAL;
	expect_of(&s, "most: shop+0x1a0 has 100.0 % of what is live: about 50 B in 1 block\n");
}

static void old_blocks_only(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7), stack_of(2, of_basket, 250, 1)};
	struct snapshot s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	struct report *r;

	(void)state;
	s.end.cause = END_SIGNAL;
	stacks[0].older = (struct amount){0};
	r = say_older(&s, NULL, true);
	expect(r->findings,
	       "most: Basket.put (shop.py:7) has 100.0 % of what is live and old enough "
	       "(--older): 250 B in 1 block\n");
	report_drop(r);
	stacks[1].older = (struct amount){0};
	r = say_older(&s, NULL, true);
	expect(r->findings, "clear: none of the blocks that are live is old enough (--older), or "
			    "suppressions hide them\n");
	report_drop(r);
}

/* Nobody is accused where there are very many that have a little. */
static void spread(void **state)
{
	static struct frame frames[50];
	static const struct frame *lists[50][2];
	struct stack stacks[50];
	struct snapshot s;

	(void)state;
	for (size_t i = 0; i < 50; i++) {
		frames[i] = cart;
		frames[i].line = (uint32_t)i + 1;
		lists[i][0] = &malloc_;
		lists[i][1] = &frames[i];
		stacks[i] = stack_of(i + 1, lists[i], 100 + (i == 30), 1);
	}
	s = snapshot_of(stacks, 50);
	s.end.cause = END_SIGNAL;
	expect_of(&s,
		  "most: what is live is spread over 50 lines: Cart::add (cart.cc:31) has most of "
		  "it, 2.0 %, 101 B in 1 block\n");
	/* Then a heap that nobody has seen into may be what matters. */
	s.heaps = (struct untraced_heaps){.kinds = 1u << UNTRACED_V8,
					  .bytes = {[UNTRACED_V8] = 3 << 20}};
	expect_of(&s,
		  "heap: V8's own heap is not traced, and what leaks there not seen: 3.0 MiB of "
		  "memory\n"
		  "most: what is live is spread over 50 lines: Cart::add (cart.cc:31) has most of "
		  "it, 2.0 %, 101 B in 1 block\n"
		  "next: next: node --heapsnapshot-signal=SIGUSR2 writes what is in V8's heap\n");
}

static void what_is_lost(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7), stack_of(2, of_basket, 300, 3),
				 stack_of(3, of_nameless, 5000, 5)};
	struct snapshot s;
	struct report *r;

	(void)state;
	lose(&stacks[0], 100, 2, 300, 3);
	stacks[1].verdict[VERDICT_REACHABLE] = (struct amount){0};
	stacks[1].verdict[VERDICT_INDIRECT] = stacks[1].hangs = stacks[1].live;
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	s.verdict.state = VERDICT_TAKEN;
	r = say(&s);
	/* What hangs on them is told with them, and not again. */
	expect(r->findings,
	       "lost: Cart::add (cart.cc:42) has lost 2 blocks, 100 B, and 3 blocks that hang on "
	       "them, 300 B: all that is lost\n"
	       "most: shop+0x1a0 has 83.3 % of what is live: 4.9 KiB in 5 blocks\n");
	assert_int_equal(r->findings->items[0].bytes, 400);
	report_drop(r);
	/* Whose it was before the attach nobody knows. */
	s.verdict.before[VERDICT_DEFINITE] = (struct amount){64, 1};
	expect_of(&s,
		  "lost: Cart::add (cart.cc:42) has lost 2 blocks, 100 B, and 3 blocks that hang "
		  "on them, 300 B: all that is lost since the attach\n"
		  "most: shop+0x1a0 has 83.3 % of what is live: 4.9 KiB in 5 blocks\n");
	/* Two that lose, of which the smaller one is worth a sentence. */
	lose(&stacks[2], 200, 1, 0, 0);
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	s.verdict.state = VERDICT_TAKEN;
	expect_of(&s,
		  "lost: Cart::add (cart.cc:42) has lost 2 blocks, 100 B, and 3 blocks that hang "
		  "on them, 300 B: 66.7 % of what is lost\n"
		  "lost: shop+0x1a0 has lost 1 block, 200 B: 33.3 % of what is lost\n");
}

static void suppressed_is_not_lost(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7)};
	struct snapshot s;
	struct report *r;

	(void)state;
	lose(&stacks[0], 700, 7, 0, 0);
	s = snapshot_of(stacks, 1);
	s.verdict.state = VERDICT_TAKEN;
	r = report_borrow(&s);
	r->notes[0].suppressed = 1u << VERDICT_DEFINITE;
	assert_int_equal(rows_make(r, BY_LINE, &none, false, NULL), 0);
	assert_int_equal(findings_of_report(r, false, &none), 0);
	expect(r->findings,
	       "most: Cart::add (cart.cc:42) has 100.0 % of what is live: 700 B in 7 blocks\n"
	       "clear: what is lost is suppressed, 700 B\n");
	report_drop(r);
}

/* All-clear is said of what was looked at, and with each reason why it may not be so. */
static void nothing_lost(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7)};
	struct snapshot s = snapshot_of(stacks, 1);
	static const char most[] =
		"most: Cart::add (cart.cc:42) has 100.0 % of what is live: 700 B in 7 blocks\n";
	char expected[1024];

	(void)state;
	s.verdict.state = VERDICT_TAKEN;
	s.verdict.classes[VERDICT_REACHABLE].count = 6;
	snprintf(
		expected, sizeof(expected), "%s%s", most,
		"clear: nothing of what the verdict judged is lost: something still points to 6 of "
		"the 7 live blocks\n");
	expect_of(&s, expected);
	s.verdict.classes[VERDICT_REACHABLE].count = 7;
	snprintf(expected, sizeof(expected), "%s%s", most,
		 "clear: nothing is lost: something still points to each of the 7 live blocks\n");
	expect_of(&s, expected);
	s.verdict.unread_bytes = 1;
	snprintf(expected, sizeof(expected), "%s%s", most,
		 "clear: none of the 7 live blocks was found to be lost, but not all memory could "
		 "be "
		 "looked at in one moment\n");
	expect_of(&s, expected);
	s.verdict.unread_bytes = 0;
	s.verdict.approximate = true;
	expect_of(&s, expected);
	s.verdict.approximate = false;
	s.verdict.classes[VERDICT_POSSIBLE] = (struct amount){48, 1};
	snprintf(expected, sizeof(expected), "%s%s", most,
		 "clear: no block is certainly lost of the 7 that are live; only pointers into "
		 "their "
		 "midst lead to 48 B\n");
	expect_of(&s, expected);
	s.verdict.before[VERDICT_DEFINITE] = (struct amount){64, 1};
	snprintf(
		expected, sizeof(expected), "%s%s", most,
		"lost: of what was allocated since the attach nothing is lost; 64 B from before it "
		"is\n");
	expect_of(&s, expected);
}

static void nothing_live(void **state)
{
	struct stack freed = stack_of(1, of_cart, 0, 0);
	struct snapshot s;

	(void)state;
	s = snapshot_of(NULL, 0);
	expect_of(&s, "not_seen: no call of a traced function was seen: of leaks nothing can be "
		      "said\n");
	freed.alloc = freed.free = (struct amount){5000, 12};
	s = snapshot_of(&freed, 1);
	expect_of(&s,
		  "clear: nothing is live of what was allocated: each of the 12 blocks that was "
		  "seen was freed\n");
	/* What was not recorded may be live. */
	s.lost[LOST_LIVE_FULL] = 3;
	expect_of(&s,
		  "clear: nothing is live of what was allocated: each of the 12 blocks that was "
		  "recorded was freed\n"
		  "incomplete: 3 events were not recorded, so figures are incomplete (\"lost\" "
		  "below)\n");
	s.lost[LOST_LIVE_FULL] = 0;
	s.sample_bytes = 4096;
	expect_of(&s,
		  "clear: none of the samples is live: a leak that is small beside the sampling "
		  "would not be seen\n");
}

static void what_grows(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7), stack_of(2, of_basket, 300, 3)};
	struct snapshot s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	const struct trend trends[] = {
		{.kind = TREND_STEADY, .growth_known = true, .growth = 0},
		{.kind = TREND_GROWING, .growth_known = true, .growth = 2048, .leaking = true},
	};
	struct report *r = say_older(&s, trends, false);

	(void)state;
	expect(r->findings,
	       "growing: Basket.put (shop.py:7) grows by 2.0 KiB/s: 300 B in 3 blocks, 30.0 % of "
	       "what is live\n"
	       "most: Cart::add (cart.cc:42) has 70.0 % of what is live: 700 B in 7 blocks\n"
	       "next: next: --verdict tells, as it exits, which of it is lost\n");
	report_drop(r);
}

/* Whoever came when the last of a few arenas was full is a bystander. */
static void arenas(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 100, 1), stack_of(2, of_arena, 900, 9)};
	struct snapshot s = snapshot_of(stacks, ARRAY_SIZE(stacks));

	(void)state;
	s.end.cause = END_SIGNAL;
	s.arenas = stacks[1].live;
	expect_of(&s,
		  "most: Cart::add (cart.cc:42) has 10.0 % of what is live: 100 B in 1 block\n"
		  "most: arenas of a runtime have 90.0 % of what is live, 900 B in 9: too few to "
		  "tell who fills them\n");
	stacks[1] = stack_of(2, of_arena, 1000, 10);
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	s.end.cause = END_SIGNAL;
	s.arenas = stacks[1].live;
	expect_of(&s,
		  "most: Basket.put (shop.py:7) has 90.9 % of what is live: 1000 B in 10 blocks\n");
}

/* Memory that no line has comes first where it is more than what lines have. */
static void not_traced(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7)};
	struct snapshot s = snapshot_of(stacks, 1);

	(void)state;
	s.exited = false;
	s.memory = (struct memory_use){.rss = 9 << 20, .anon = 8 << 20};
	s.growth = (struct growth){.anon = 5 << 20, .untraced = 4 << 20};
	expect_of(&s,
		  "untraced: its memory grew by 5.0 MiB since the attach, 4.0 MiB of it no live "
		  "blocks, and more than freed ones leave behind: none of the traced functions "
		  "gives it out (a runtime's own allocator?); --mmap traces mappings as well\n"
		  "most: Cart::add (cart.cc:42) has 100.0 % of what is live: 700 B in 7 blocks\n"
		  "memory: it has 9.0 MiB in memory: 8.0 MiB of its own, 1.0 MiB of files and "
		  "shared memory; live blocks asked for 700 B\n"
		  "next: next: memleakbpf inspect -p 12 tells what its memory is\n");
}

static void what_next(void **state)
{
	struct stack stacks[] = {stack_of(1, of_cart, 700, 7)};
	struct snapshot s = snapshot_of(stacks, 1);
	static const char most[] =
		"most: Cart::add (cart.cc:42) has 100.0 % of what is live: 700 B in 7 blocks\n";
	char expected[1024];

	(void)state;
	s.exited = false;
	snprintf(expected, sizeof(expected), "%s%s", most,
		 "next: next: memleakbpf -p 12 --verdict tells which of it is lost, and what holds "
		 "the rest\n");
	expect_of(&s, expected);
	s.alloc.count = s.free.count = 1000000;
	snprintf(
		expected, sizeof(expected), "%s%s", most,
		"next: next: it makes 2,000,000 calls a second, which -s 512k --gate costs next to "
		"nothing\n");
	expect_of(&s, expected);
	s.attached = ATTACHED_BY_GATE;
	snprintf(expected, sizeof(expected), "%s%s", most,
		 "next: next: memleakbpf -p 12 --verdict tells which of it is lost, and what holds "
		 "the rest\n");
	expect_of(&s, expected);
}

/* Five are shown; what a person can do without goes first. */
static void at_most_five(void **state)
{
	struct findings *f = calloc(1, sizeof(*f));
	struct findings *copy;

	(void)state;
	assert_non_null(f);
	for (int kind = 0; kind < FINDING_KINDS; kind++)
		assert_non_null(findings_add(f, (enum finding_kind)kind, 1, "%d", kind));
	findings_trim(f, FINDINGS_SHOWN);
	expect(f, "lost: 0\ngrowing: 1\nmisuses: 5\nnot_seen: 7\nuntraced: 8\n");
	assert_true(findings_have(f, FINDING_LOST));
	assert_false(findings_have(f, FINDING_MEMORY));
	assert_false(findings_have(NULL, FINDING_LOST));
	f->items[0].where.function = strdup("f");
	copy = findings_copy(f);
	findings_free(f);
	expect(copy, "lost: 0\ngrowing: 1\nmisuses: 5\nnot_seen: 7\nuntraced: 8\n");
	assert_string_equal(copy->items[0].where.function, "f");
	findings_free(copy);
	assert_null(findings_copy(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_most),
		cmocka_unit_test(old_blocks_only),
		cmocka_unit_test(spread),
		cmocka_unit_test(what_is_lost),
		cmocka_unit_test(suppressed_is_not_lost),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(nothing_live),
		cmocka_unit_test(what_grows),
		cmocka_unit_test(arenas),
		cmocka_unit_test(not_traced),
		cmocka_unit_test(what_next),
		cmocka_unit_test(at_most_five),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
