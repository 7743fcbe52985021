/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the screen share. */
#ifndef MEMLEAKBPF_LIVE_SCREEN_INTERNAL_H
#define MEMLEAKBPF_LIVE_SCREEN_INTERNAL_H

#include "user/live/screen.h"

#define SCREEN_LOW \
	12 /* rows, below which the list is worth more than what is said of the process */

/* A row of the list by its number; NULL: the view does not have it. */
const struct live_row *screen_row(const struct live_view *view, size_t number);
/* The same of a survey. */
const struct live_process *screen_process(const struct live_view *view, size_t number);

/* How many orders there are, and what they are called: in one word, and at more length. */
unsigned screen_orders(const struct live_screen *screen);
const char *screen_order_name(const struct live_screen *screen, unsigned order);
const char *screen_order_text(const struct live_screen *screen, unsigned order);

/* The option that keeps what the order is about, where that is not kept; NULL: it is, as far as is known. */
const char *screen_order_lacks(const struct live_screen *screen, const struct live_view *view,
			       unsigned order);

#define CELL_MAX 64

/* What a row is: struct live_row, or struct live_process. */
struct screen_column {
	const char *head;
	unsigned width;
	unsigned by;   /* what a click on its head sorts by */
	unsigned need; /* on a narrow screen those with the highest are left out first */
	void (*print)(char text[static CELL_MAX], const struct live_screen *screen,
		      const void *row);
	bool (*there)(const struct live_view *view); /* NULL: always */
	bool left;				     /* its text stands at its left end */
};

/* Those of the screen's list, and how many. */
const struct screen_column *screen_columns(const struct live_screen *screen, size_t *count);

/* Which of them there is room for, as bits, and where what is behind them begins. */
unsigned screen_columns_shown(const struct live_screen *screen, const struct live_view *view,
			      unsigned *behind);

/* Whose head is at this column of the screen: by what it sorts. */
bool screen_column_at(const struct live_screen *screen, const struct live_view *view, unsigned col,
		      unsigned *by);

/* What ? shows, in lines that fit; live_text_release() in any case. 0 or -ENOMEM. */
int screen_help(const struct live_screen *screen, struct live_text *text);

void screen_draw_list(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas);

#endif
