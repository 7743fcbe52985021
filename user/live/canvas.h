/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A screen as cells, which knows no terminal: terminal.c shows it, and tests look at it. Text that
 * goes into it may be anybody's: it is cleaned on the way.
 */
#ifndef MEMLEAKBPF_LIVE_CANVAS_H
#define MEMLEAKBPF_LIVE_CANVAS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum canvas_style {
	CANVAS_PLAIN,
	CANVAS_BOLD,
	CANVAS_DIM,
	CANVAS_GOOD,
	CANVAS_WARN,
	CANVAS_BAD,
	CANVAS_HEAD,   /* of columns */
	CANVAS_CHOSEN, /* the row that the cursor is on */
	CANVAS_STYLES,
};

struct canvas_cell {
	uint32_t point; /* the code point shown; 0: the right half of a wide one */
	enum canvas_style style;
};

struct canvas {
	struct canvas_cell *cells; /* rows * cols */
	unsigned rows, cols;
	bool utf8; /* the terminal has more than ASCII */
};

#define CANVAS_SIDE_MAX 1024 /* rows, and columns: a terminal may say anything */

/*
 * Makes it that large (at most CANVAS_SIDE_MAX each way) and empty. 0; or -ENOMEM, with the canvas
 * as it was.
 */
int canvas_resize(struct canvas *canvas, unsigned rows, unsigned cols);
void canvas_clear(struct canvas *canvas);
void canvas_release(struct canvas *canvas);

/* How many columns the cleaned text takes. */
unsigned canvas_width(const struct canvas *canvas, const char *text);

/*
 * Writes the text from a column on, in at most `width` columns; a longer text ends in a mark.
 * Writes nothing outside of the canvas. Returns how many columns it takes.
 */
unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned col, unsigned width,
		    enum canvas_style style, const char *text);

/* The same, at the right end of so many columns. */
void canvas_put_right(struct canvas *canvas, unsigned row, unsigned col, unsigned width,
		      enum canvas_style style, const char *text);

/* A row of parts that are written whole or not at all. */
struct canvas_line {
	struct canvas *canvas;
	unsigned row, col, end; /* the next part's place, and the line's end */
};

/* Adds a part, two columns after the last one; false: there was no room for it. */
bool canvas_part(struct canvas_line *line, enum canvas_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Gives all of a row this style. */
void canvas_style_row(struct canvas *canvas, unsigned row, enum canvas_style style);

/* A row's text as UTF-8, without blanks at its end. */
void canvas_print_row(const struct canvas *canvas, unsigned row, FILE *out);

#endif
