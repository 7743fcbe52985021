/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the screen. */
#ifndef MEMLEAKBPF_LIVE_SCREEN_INTERNAL_H
#define MEMLEAKBPF_LIVE_SCREEN_INTERNAL_H

#include "user/live/screen.h"

#define SCREEN_LOW \
	12 /* rows, below which the list is worth more than what is said of the process */

/* A row of the list by its number; NULL: the view does not have it. */
const struct live_row *screen_row(const struct live_view *view, size_t number);
/* The same for a survey. */
const struct live_process *screen_process(const struct live_view *view, size_t number);

/* How many orders there are, and their names: in one word, and at more length. */
unsigned screen_orders(const struct live_screen *screen);
const char *screen_order_name(const struct live_screen *screen, unsigned order);
const char *screen_order_text(const struct live_screen *screen, unsigned order);

/* The option that would keep the order's figures; NULL: they are kept, as far as is known. */
const char *screen_order_lacks(const struct live_screen *screen, const struct live_view *view,
			       unsigned order);

#define CELL_MAX 64

/* The row is a struct live_row or a struct live_process. */
struct screen_column {
	const char *head;
	unsigned width;
	unsigned by;   /* a click on its head sorts by this */
	unsigned need; /* on a narrow screen the highest are left out first */
	void (*print)(char text[static CELL_MAX], const struct live_screen *screen,
		      const void *row);
	bool (*there)(const struct live_view *view); /* NULL: always */
	bool left;				     /* its text stands at its left end */
};

/* The columns of the screen's list, and their number. */
const struct screen_column *screen_columns(const struct live_screen *screen, size_t *count);

/* The columns that have room, as bits, and where the space behind them begins. */
unsigned screen_columns_shown(const struct live_screen *screen, const struct live_view *view,
			      unsigned *behind);

/* Finds the column head at this column of the screen: the order that it stands for. */
bool screen_column_at(const struct live_screen *screen, const struct live_view *view, unsigned col,
		      unsigned *by);

/* Makes the text for ?, in lines that fit; live_text_release() in any case. 0 or -ENOMEM. */
int screen_help(const struct live_screen *screen, struct live_text *text);

void screen_draw_list(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas);

#endif
