// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The screen of a survey. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/live/scene.h"

static void answer_survey(struct scene *s)
{
	const struct live_request *r = &s->screen.request;
	struct live_view *view = live_view_new(r->count, true);

	assert_non_null(view);
	view->request = *r;
	view->state = LIVE_RUNNING;
	view->elapsed_ns = 5000000000;
	view->stacks = view->ranked = 40;
	view->survey = (struct live_survey){.processes = 40, .growing = 1, .budget = 0.02};
	view->first = r->first < 40 ? r->first : 40;
	for (size_t i = view->first; i < 40 && view->row_count < r->count; i++) {
		struct live_process *p = &view->processes[view->row_count++];

		*p = (struct live_process){
			.id = live_process_id((pid_t)i + 100, 7),
			.pid = (pid_t)i + 100,
			.comm = "shop",
			.where = strdup("shop.service"),
			.bytes = 3 << 20,
			.rss = i == 1 ? 0 : 5 << 20,
			.trend = {.kind = TREND_GROWING, .growth_known = true, .growth = 4096},
			.spark = {0, 1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20, 6 << 20, 7 << 20},
			.spark_count = 8,
			.limit_known = true,
			.limit_s = 7200,
			.grows_for_ns = i ? 0 : 192000000000,
			.watched = i == 0,
		};
		if (!i)
			memcpy(p->full_at, "09:49:07", 9);
	}
	live_view_free(s->view);
	s->view = view;
	live_screen_take(&s->screen, view);
}

static void begin_survey(struct scene *s, unsigned rows, unsigned cols, bool utf8)
{
	*s = (struct scene){.canvas = {.utf8 = utf8}};
	live_screen_init_survey(&s->screen, utf8);
	assert_int_equal(canvas_resize(&s->canvas, rows, cols), 0);
	live_screen_resize(&s->screen, rows, cols);
	answer_survey(s);
}

static void press_in_survey(struct scene *s, enum live_input key, uint32_t point)
{
	live_screen_event(&s->screen, &(struct live_event){.key = key, .point = point}, s->view);
	answer_survey(s);
}

static void survey_at_three_sizes(void **state)
{
	struct scene s;

	(void)state;
	begin_survey(&s, 24, 80, true);
	assert_row(&s, 0, "40 processes  5.0 s  by suspicion  1/40");
	assert_row(&s, 1, "1 growing  probes on 0");
	assert_row(&s, 2, "of a CPU: probes 0.00 %  budget 2 %");
	assert_row(
		&s, 3,
		"    PID COMMAND         MEMORY    RSS GROWTH/h TREND                LIMIT PROBES");
	assert_row(&s, 4,
		   "    100 shop              3.0M   5.0M   +14.1M growing   "
		   "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588   2h00m now");
	/* Not known is not nothing. */
	assert_row_has(&s, 5, " 101 shop              3.0M      -   +14.1M growing");
	end(&s);
	begin_survey(&s, 10, 40, false);
	assert_row(&s, 2, "    100 shop              3.0M   +14.1M");
	end(&s);
	begin_survey(&s, 50, 120, false);
	assert_row_has(&s, 4, "_.-=+*%#   3m12s 09:49:07   2h00m now    shop.service");
	/* Of what does not grow. */
	assert_row_has(&s, 5, "-        -");
	end(&s);
}

static void survey_keys(void **state)
{
	struct scene s;

	(void)state;
	begin_survey(&s, 24, 80, true);
	press_in_survey(&s, LIVE_KEY_CHAR, '>');
	assert_row_has(&s, 0, "by memory");
	press_in_survey(&s, LIVE_KEY_CHAR, '<');
	press_in_survey(&s, LIVE_KEY_CHAR, '<');
	assert_int_equal(s.screen.request.sort, SURVEY_ORDERS - 1);
	/* What is about one process does nothing here. */
	press_in_survey(&s, LIVE_KEY_CHAR, 'v');
	press_in_survey(&s, LIVE_KEY_CHAR, 's');
	press_in_survey(&s, LIVE_KEY_CHAR, 'm');
	assert_int_equal(
		s.screen.request.verdicts + s.screen.request.saves + s.screen.request.marks, 0);
	press_in_survey(&s, LIVE_KEY_DOWN, 0);
	press_in_survey(&s, LIVE_KEY_ENTER, 0);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_STACK);
	assert_int_equal(live_process_pid(s.screen.request.stack), 101);
	assert_int_equal(live_process_start(s.screen.request.stack), 7);
	press_in_survey(&s, LIVE_KEY_ESCAPE, 0);
	assert_int_equal(s.screen.request.page, LIVE_PAGE_NONE);
	press_in_survey(&s, LIVE_KEY_CHAR, '?');
	assert_row_has(&s, 2, "sampled probes are on it");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survey_at_three_sizes),
		cmocka_unit_test(survey_keys),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
