/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The screen of one process or of a survey: what keys do to it, and how it looks. Knows no
 * terminal, no thread and no trace: events come in, a request and cells come out.
 */
#ifndef MEMLEAKBPF_LIVE_SCREEN_H
#define MEMLEAKBPF_LIVE_SCREEN_H

#include "user/live/canvas.h"
#include "user/live/view.h"

enum live_input {
	LIVE_KEY_NONE,
	LIVE_KEY_CHAR, /* event.point */
	LIVE_KEY_UP,
	LIVE_KEY_DOWN,
	LIVE_KEY_LEFT,
	LIVE_KEY_RIGHT,
	LIVE_KEY_PAGE_UP,
	LIVE_KEY_PAGE_DOWN,
	LIVE_KEY_HOME,
	LIVE_KEY_END,
	LIVE_KEY_ENTER,
	LIVE_KEY_ESCAPE,
	LIVE_KEY_BACKSPACE,
	LIVE_KEY_CLICK, /* at event.row, event.col */
	LIVE_KEY_WHEEL_UP,
	LIVE_KEY_WHEEL_DOWN,
};

struct live_event {
	enum live_input key;
	uint32_t point;
	unsigned row, col;
};

enum live_overlay {
	LIVE_NO_OVERLAY,
	LIVE_HELP,
	LIVE_ORDERS, /* a menu of orders to sort by */
	LIVE_FILTER, /* a line to type the filter in */
	LIVE_SAVES,  /* a question: which file to save */
};

struct live_screen {
	unsigned rows, cols;
	bool utf8;
	bool survey; /* shows the machine's processes, not one process's stacks */
	bool quit;
	struct live_request request;
	enum live_overlay overlay;
	size_t cursor, top; /* in the list: the chosen row, the first visible one */
	size_t scroll;	    /* in the lines of the page or the help */
	size_t order;	    /* chosen in the menu */
	char typed[LIVE_FILTER_MAX];
	unsigned marks_told; /* request.marks at the last mark announced */
	char message[256];   /* the last message, for the bottom line; "": none */
	const char *busy;    /* the worker's present long work; NULL: none */
};

void live_screen_init(struct live_screen *screen, unsigned sort, bool utf8);
/* The same for a survey. */
void live_screen_init_survey(struct live_screen *screen, bool utf8);
void live_screen_resize(struct live_screen *screen, unsigned rows, unsigned cols);

/*
 * Handles a key pressed while this view was visible (NULL: none yet). Afterwards screen->request
 * has the wishes.
 */
void live_screen_event(struct live_screen *screen, const struct live_event *event,
		       const struct live_view *view);

/* A new view has come: keeps the cursor within its list. */
void live_screen_take(struct live_screen *screen, const struct live_view *view);

void live_screen_say(struct live_screen *screen, const char *message);

/* Draws all of the screen; the canvas is as large. */
void live_screen_draw(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas);

/*
 * For the screen's own files: the list's first row on the screen, and how many rows of it are
 * visible.
 */
unsigned live_screen_list_row(const struct live_screen *screen);
unsigned live_screen_list_rows(const struct live_screen *screen);
unsigned live_screen_page_rows(const struct live_screen *screen);

#endif
