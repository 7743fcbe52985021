// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The screen without a terminal: keys in, cells out, at several sizes. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/live/scene.h"

/* ---- sizes -------------------------------------------------------------------------------- */

static void at_80_by_24(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	assert_row(&s, 0, "4242 (shop)  1m01s  by live  1/500");
	assert_row(&s, 1, "live 3.0 MiB  RSS 7.0 MiB  untraced growth 5.0 MiB  1,234,567 blocks");
	assert_row(&s, 2, "not recorded 0  multi  probes 3.1 % of a CPU  tool 0.7 %");
	assert_row(&s, 3, "      LIVE    BLOCKS    GROWTH/h OLDEST    ALLOC/s FUNCTION");
	assert_row(&s, 4,
		   " 500.0 KiB       500    +3.5 MiB  5.0 s      100 B site_0(int)  (shop.cpp:12)");
	assert_row_has(&s, 22, "site_18(int)");
	assert_row(&s, 23,
		   "?:help  q:quit  Enter:stack  /:filter  o:order  v:verdict  i:inspect  m:mark");
	end(&s);
}

/* Columns go, the least telling first; the function stays. */
static void at_40_by_10(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 10, 40);
	assert_row(&s, 0, "4242 (shop)  1m01s  by live  1/500");
	assert_row(&s, 1, "      LIVE FUNCTION");
	assert_row(&s, 2, " 500.0 KiB site_0(int)  (shop.cpp:12)");
	assert_row_has(&s, 8, "site_6(int)");
	assert_row(&s, 9, "?:help  q:quit  Enter:stack  /:filter");
	end(&s);
}

static void at_200_by_60(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 60, 200);
	assert_row(&s, 1,
		   "live 3.0 MiB  RSS 7.0 MiB  untraced growth 5.0 MiB  1,234,567 blocks  "
		   "alloc 2.0 KiB/s, free 0 B/s");
	assert_row_has(&s, 4, "site_0(int)  (shop.cpp:12)");
	assert_row_has(&s, 58, "site_54(int)");
	assert_row_has(&s, 59, "g:cost");
	end(&s);
}

/* Whatever the size, nothing is written outside (sanitizers look), and no key ends us. */
static void any_size(void **state)
{
	static const enum live_input keys[] = {LIVE_KEY_DOWN,  LIVE_KEY_END,	LIVE_KEY_PAGE_UP,
					       LIVE_KEY_ENTER, LIVE_KEY_ESCAPE, LIVE_KEY_HOME};

	(void)state;
	for (unsigned rows = 0; rows < 9; rows++) {
		for (unsigned cols = 0; cols < 30; cols += 3) {
			struct scene s;

			begin(&s, rows, cols);
			for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
				press(&s, keys[i]);
				live_screen_draw(&s.screen, s.view, &s.canvas);
			}
			type(&s, "?");
			live_screen_draw(&s.screen, s.view, &s.canvas);
			press(&s, LIVE_KEY_END);
			live_screen_draw(&s.screen, s.view, &s.canvas);
			end(&s);
		}
	}
}

/* The screen becomes larger and smaller while the cursor is at the end. */
static void resized(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	press(&s, LIVE_KEY_END);
	assert_row_has(&s, 22, "site_499(int)");
	assert_int_equal(canvas_resize(&s.canvas, 10, 40), 0);
	live_screen_resize(&s.screen, 10, 40);
	answer(&s);
	assert_row_has(&s, 8, "site_499(int)");
	assert_int_equal(canvas_resize(&s.canvas, 60, 80), 0);
	live_screen_resize(&s.screen, 60, 80);
	answer(&s);
	assert_int_equal(s.screen.cursor, 499);
	live_screen_draw(&s.screen, s.view, &s.canvas);
	assert_row_has(&s, 58, "site_499(int)");
	end(&s);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void moving(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	press(&s, LIVE_KEY_UP);
	assert_int_equal(s.screen.cursor, 0);
	press(&s, LIVE_KEY_DOWN);
	press(&s, LIVE_KEY_PAGE_DOWN);
	assert_int_equal(s.screen.cursor, 20);
	assert_row_has(&s, 22, "site_20(int)");
	press(&s, LIVE_KEY_END);
	assert_int_equal(s.screen.cursor, 499);
	press(&s, LIVE_KEY_DOWN);
	assert_int_equal(s.screen.cursor, 499);
	press(&s, LIVE_KEY_WHEEL_UP);
	assert_int_equal(s.screen.cursor, 496);
	press(&s, LIVE_KEY_HOME);
	assert_row_has(&s, 4, "site_0(int)");
	/* What is asked for: what is seen, and a page around it. */
	assert_int_equal(s.screen.request.first, 0);
	assert_true(s.screen.request.count >= 19 && s.screen.request.count < 100);
	end(&s);
}

/* The list becomes shorter under the cursor: another filter, a process that ended. */
static void list_shrinks(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	press(&s, LIVE_KEY_END);
	s.view->ranked = 3;
	live_screen_take(&s.screen, s.view);
	assert_int_equal(s.screen.cursor, 2);
	assert_int_equal(s.screen.top, 0);
	assert_int_equal(s.screen.request.first, 0);
	end(&s);
}

static void orders(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	type(&s, "<");
	assert_int_equal(s.screen.request.sort, RANK_ORDERS - 1);
	type(&s, ">>");
	assert_int_equal(s.screen.request.sort, RANK_LIVE + 1);
	type(&s, "o");
	assert_row_has(&s, 1 + RANK_GROWTH, "growth");
	press(&s, LIVE_KEY_HOME);
	for (int i = 0; i < RANK_GROWTH; i++)
		press(&s, LIVE_KEY_DOWN);
	press(&s, LIVE_KEY_ENTER);
	assert_int_equal(s.screen.request.sort, RANK_GROWTH);
	assert_row_has(&s, 0, "by growth");
	/* The heads: LIVE, BLOCKS, GROWTH/h, OLDEST, ALLOC/s, FUNCTION. */
	click(&s, 3, 35);
	assert_int_equal(s.screen.request.sort, RANK_AGE);
	click(&s, 3, 0);
	assert_int_equal(s.screen.request.sort, RANK_LIVE);
	click(&s, 3, 60);
	assert_int_equal(s.screen.request.sort, RANK_LIVE);
	end(&s);
}

/* Lifetimes are, temporary blocks and the peak are not: the first is gone to, the others name their option. */
static void orders_of_what_is_kept(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	s.figures = (struct figures_kept){.lifetimes = true};
	answer(&s);
	s.screen.request.sort = RANK_LIFETIME - 1;
	type(&s, ">");
	assert_int_equal(s.screen.request.sort, RANK_LIFETIME);
	type(&s, ">");
	assert_int_equal(s.screen.request.sort, RANK_PEAK + 1);
	type(&s, "o");
	press(&s, LIVE_KEY_UP);
	assert_row_has(&s, 1 + RANK_PEAK, "not without --peak");
	press(&s, LIVE_KEY_ENTER);
	assert_int_equal(s.screen.request.sort, RANK_PEAK + 1);
	assert_row_has(&s, 23, "peak: not kept; start top with --peak");
	s.figures.peak = true;
	answer(&s);
	type(&s, "<");
	assert_int_equal(s.screen.request.sort, RANK_PEAK);
	end(&s);
}

/* Each order of analysis has a name here, also one that comes later. */
static void orders_have_names(void **state)
{
	(void)state;
	for (int by = 0; by < RANK_ORDERS; by++) {
		assert_non_null(rank_name((enum rank_by)by));
		assert_non_null(rank_text((enum rank_by)by));
	}
}

static void filtering(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	type(&s, "/getx");
	press(&s, LIVE_KEY_BACKSPACE);
	assert_row(&s, 23, "Part of a name: get");
	assert_string_equal(s.screen.request.filter, "");
	press(&s, LIVE_KEY_ENTER);
	assert_string_equal(s.screen.request.filter, "get");
	assert_row_has(&s, 0, "/get");
	/* Given up: as it was. */
	type(&s, "/quit");
	press(&s, LIVE_KEY_ESCAPE);
	assert_string_equal(s.screen.request.filter, "get");
	assert_false(s.screen.quit);
	press(&s, LIVE_KEY_ESCAPE);
	assert_string_equal(s.screen.request.filter, "");
	end(&s);
}

/* What is typed may be any character, and more than there is room for. */
static void filter_of_any_length(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	type(&s, "/");
	for (int i = 0; i < 300; i++) {
		live_screen_event(&s.screen,
				  &(struct live_event){.key = LIVE_KEY_CHAR, .point = 0x20ac},
				  s.view);
		answer(&s);
	}
	assert_int_equal(strlen(s.screen.typed), (LIVE_FILTER_MAX - 1) / 3 * 3);
	press(&s, LIVE_KEY_BACKSPACE);
	assert_int_equal(strlen(s.screen.typed), (LIVE_FILTER_MAX - 1) / 3 * 3 - 3);
	end(&s);
}

static void pages(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	press(&s, LIVE_KEY_DOWN);
	press(&s, LIVE_KEY_ENTER);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_STACK);
	assert_int_equal(s.screen.request.stack, 2);
	/* Until the worker has answered. */
	assert_row(&s, 1, "...");
	assert_int_equal(live_text_set(&s.view->text, "one\ntwo\nthree", 80), 0);
	assert_row(&s, 1, "one");
	assert_row(&s, 3, "three");
	assert_row_has(&s, 23, "Esc:back");
	/* q leaves the page, not the tool. */
	type(&s, "q");
	assert_int_equal(s.screen.request.page, LIVE_PAGE_NONE);
	assert_false(s.screen.quit);
	type(&s, "q");
	assert_true(s.screen.quit);
	end(&s);
}

/* A page longer than the screen ends at its end. */
static void page_scrolls(void **state)
{
	struct scene s;
	char *lines = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&lines, &size);

	(void)state;
	for (int i = 0; i < 100; i++)
		fprintf(out, "line %d\n", i);
	assert_int_equal(close_memstream(out), 0);
	begin(&s, 24, 80);
	press(&s, LIVE_KEY_ENTER);
	assert_int_equal(live_text_set(&s.view->text, lines, 80), 0);
	live_screen_event(&s.screen, &(struct live_event){.key = LIVE_KEY_END}, s.view);
	assert_row(&s, 22, "line 99");
	live_screen_event(&s.screen, &(struct live_event){.key = LIVE_KEY_UP}, s.view);
	assert_row(&s, 22, "line 98");
	free(lines);
	end(&s);
}

/* A click chooses a row, a second one opens it. */
static void mouse(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	click(&s, 6, 10);
	assert_int_equal(s.screen.cursor, 2);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_NONE);
	click(&s, 23, 10);
	assert_int_equal(s.screen.cursor, 2);
	click(&s, 6, 10);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_STACK);
	assert_int_equal(s.screen.request.stack, 3);
	end(&s);
}

static void marks_and_changes(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	type(&s, "d");
	assert_false(s.screen.request.changes);
	assert_row_has(&s, 23, "nothing is marked yet");
	type(&s, "m");
	assert_int_equal(s.screen.request.marks, 1);
	s.view->marked = true;
	s.view->mark_live = 3 << 20;
	live_screen_take(&s.screen, s.view);
	assert_row_has(&s, 23, "marked: 3.0 MiB live; d shows what changes");
	/* Once. */
	live_screen_say(&s.screen, "something else");
	live_screen_take(&s.screen, s.view);
	assert_row_has(&s, 23, "something else");
	live_screen_event(&s.screen, &(struct live_event){.key = LIVE_KEY_CHAR, .point = 'd'},
			  s.view);
	assert_true(s.screen.request.changes);
	answer(&s);
	s.view->marked = true;
	assert_row_has(&s, 3, "CHANGE       LIVE");
	assert_row_has(&s, 4, "  -2.0 KiB  500.0 KiB");
	press(&s, LIVE_KEY_ESCAPE);
	assert_false(s.screen.request.changes);
	end(&s);
}

/* Orders that only a living process can be given. */
static void ended(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	type(&s, "v");
	assert_int_equal(s.screen.request.verdicts, 1);
	s.view->state = LIVE_EXITED;
	assert_row_has(&s, 0, "HAS ENDED  ");
	s.view->end = (struct process_end){.cause = END_EXIT, .code = 3};
	assert_row_has(&s, 0, "HAS ENDED: exited with status 3  ");
	s.view->end = (struct process_end){
		.cause = END_SIGNAL, .code = 9, .sender = 1, .sender_comm = "in\033it"};
	assert_row_has(&s, 0, "HAS ENDED: was killed by SIGKILL that process 1 (in?it) sent  ");
	live_screen_event(&s.screen, &(struct live_event){.key = LIVE_KEY_CHAR, .point = 'v'},
			  s.view);
	live_screen_event(&s.screen, &(struct live_event){.key = LIVE_KEY_CHAR, .point = 'i'},
			  s.view);
	assert_int_equal(s.screen.request.verdicts, 1);
	assert_int_equal(s.screen.request.inspections, 0);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_NONE);
	end(&s);
}

static void judged_and_lost(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 120);
	assert_row_lacks(&s, 3, "LOST");
	s.view->judged = true;
	s.view->judged_lost = 1 << 20;
	s.view->rows[0].lost = 1 << 20;
	s.view->lost = 12;
	s.view->lost_text = "allocations were missed";
	assert_row_has(&s, 1, "lost blocks 1.0 MiB");
	assert_row_has(&s, 2, "not recorded 12");
	assert_row_has(&s, 3, "LIVE       LOST");
	assert_row_has(&s, 4, "500.0 KiB    1.0 MiB");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_80_by_24),
		cmocka_unit_test(at_40_by_10),
		cmocka_unit_test(at_200_by_60),
		cmocka_unit_test(any_size),
		cmocka_unit_test(resized),
		cmocka_unit_test(moving),
		cmocka_unit_test(list_shrinks),
		cmocka_unit_test(orders),
		cmocka_unit_test(orders_of_what_is_kept),
		cmocka_unit_test(orders_have_names),
		cmocka_unit_test(filtering),
		cmocka_unit_test(filter_of_any_length),
		cmocka_unit_test(pages),
		cmocka_unit_test(page_scrolls),
		cmocka_unit_test(mouse),
		cmocka_unit_test(marks_and_changes),
		cmocka_unit_test(ended),
		cmocka_unit_test(judged_and_lost),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
