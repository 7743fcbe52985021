/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A screen, what it is drawn on, and a worker that answers at once. After cmocka.h. */
#ifndef TESTS_UNIT_LIVE_SCENE_H
#define TESTS_UNIT_LIVE_SCENE_H

#include "user/base/util.h"
#include "user/live/screen.h"

#define STACKS 500

struct scene {
	struct live_screen screen;
	struct canvas canvas;
	struct live_view *view;
	struct figures_kept figures;
};

/* ---- a view as the worker would make it --------------------------------------------------- */

/* Stack i has (STACKS - i) KiB, and a name that says so; its id is i + 1. */
static inline void answer(struct scene *s)
{
	const struct live_request *r = &s->screen.request;
	struct live_view *view = live_view_new(r->count, false);

	assert_non_null(view);
	view->request = *r;
	view->state = LIVE_RUNNING;
	view->pid = 4242;
	strcpy(view->comm, "shop");
	view->elapsed_ns = 61000000000;
	view->live = (struct amount){3 << 20, 1234567};
	view->rss = 7 << 20;
	view->untraced = 5 << 20;
	view->rates_known = true;
	view->alloc_rate = 2048;
	view->attached = "multi";
	view->figures = s->figures;
	view->cost = (struct live_cost){.probes_known = true, .probes = 0.031, .tool = 0.007};
	view->stacks = view->ranked = STACKS;
	view->first = r->first < STACKS ? r->first : STACKS;
	for (size_t i = view->first; i < STACKS && view->row_count < r->count; i++) {
		struct live_row *row = &view->rows[view->row_count++];

		*row = (struct live_row){
			.id = i + 1,
			.live = {(STACKS - i) * 1024, STACKS - i},
			.oldest_ns = 5000000000,
			.trend = {.kind = TREND_GROWING, .growth_known = true, .growth = 1024},
			.rate_known = true,
			.rate = 100,
			.change = -2048,
		};
		assert_true(asprintf(&row->site, "site_%zu(int)", i) > 0);
		row->where = strdup("shop.cpp:12");
	}
	live_view_free(s->view);
	s->view = view;
	live_screen_take(&s->screen, view);
}

static inline void begin(struct scene *s, unsigned rows, unsigned cols)
{
	*s = (struct scene){.canvas = {.utf8 = true}};
	live_screen_init(&s->screen, RANK_LIVE, true);
	assert_int_equal(canvas_resize(&s->canvas, rows, cols), 0);
	live_screen_resize(&s->screen, rows, cols);
	answer(s);
}

static inline void end(struct scene *s)
{
	live_view_free(s->view);
	canvas_release(&s->canvas);
}

static inline void press(struct scene *s, enum live_input key)
{
	live_screen_event(&s->screen, &(struct live_event){.key = key}, s->view);
	answer(s);
}

static inline void type(struct scene *s, const char *text)
{
	for (; *text; text++) {
		live_screen_event(
			&s->screen,
			&(struct live_event){.key = LIVE_KEY_CHAR, .point = (uint8_t)*text},
			s->view);
		answer(s);
	}
}

static inline void click(struct scene *s, unsigned row, unsigned col)
{
	live_screen_event(&s->screen,
			  &(struct live_event){.key = LIVE_KEY_CLICK, .row = row, .col = col},
			  s->view);
	answer(s);
}

/* Drawn anew: the text of a row, for free(). */
static inline char *row_text(struct scene *s, unsigned row)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	live_screen_draw(&s->screen, s->view, &s->canvas);
	canvas_print_row(&s->canvas, row, out);
	assert_int_equal(close_memstream(out), 0);
	return text;
}

static inline void assert_row(struct scene *s, unsigned row, const char *wanted)
{
	char *text = row_text(s, row);

	assert_string_equal(text, wanted);
	free(text);
}

static inline void assert_row_has(struct scene *s, unsigned row, const char *part)
{
	char *text = row_text(s, row);

	if (!strstr(text, part))
		fail_msg("row %u has no '%s': '%s'", row, part, text);
	free(text);
}

static inline void assert_row_lacks(struct scene *s, unsigned row, const char *part)
{
	char *text = row_text(s, row);

	if (strstr(text, part))
		fail_msg("row %u has '%s': '%s'", row, part, text);
	free(text);
}

#endif
