// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <wchar.h>

#include "user/base/text.h"

#define CUT_UTF8  0x2026 /* an ellipsis */
#define CUT_ASCII '~'

int canvas_resize(struct canvas *canvas, unsigned rows, unsigned cols)
{
	struct canvas_cell *cells;

	rows = rows > CANVAS_SIDE_MAX ? CANVAS_SIDE_MAX : rows;
	cols = cols > CANVAS_SIDE_MAX ? CANVAS_SIDE_MAX : cols;
	cells = calloc((size_t)rows * cols + 1, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	free(canvas->cells);
	canvas->cells = cells;
	canvas->rows = rows;
	canvas->cols = cols;
	canvas_clear(canvas);
	return 0;
}

void canvas_clear(struct canvas *canvas)
{
	for (size_t i = 0; i < (size_t)canvas->rows * canvas->cols; i++)
		canvas->cells[i] = (struct canvas_cell){' ', CANVAS_PLAIN};
}

void canvas_release(struct canvas *canvas)
{
	free(canvas->cells);
	canvas->cells = NULL;
	canvas->rows = canvas->cols = 0;
}

/*
 * Takes the next character that takes room; *width is its columns. A question mark replaces
 * characters that the terminal does not have, or that have no width in this libc. 0 at the end.
 */
static uint32_t canvas_next(const struct canvas *canvas, const char **text, unsigned *width)
{
	while (**text) {
		struct text_piece piece = text_next(text, &text_for_terminal);
		bool instead = piece.len == 1 && *piece.bytes == '?';
		uint32_t point = instead ? '?' : piece.point;
		int columns;

		*width = 1;
		if (point < 0x80)
			return point;
		if (!canvas->utf8)
			return '?';
		columns = wcwidth((wchar_t)point);
		if (columns < 0)
			return '?';
		/*
		 * Leaves out combining characters: a stack of them would climb over the rows above.
		 */
		if (!columns)
			continue;
		*width = (unsigned)columns;
		return point;
	}
	return 0;
}

unsigned canvas_width(const struct canvas *canvas, const char *text)
{
	unsigned width, sum = 0;

	while (canvas_next(canvas, &text, &width) && sum < CANVAS_SIDE_MAX)
		sum += width;
	return sum;
}

static void canvas_set(struct canvas *canvas, unsigned row, unsigned col, uint32_t point,
		       unsigned width, enum canvas_style style)
{
	struct canvas_cell *cell = &canvas->cells[(size_t)row * canvas->cols + col];

	cell[0] = (struct canvas_cell){point, style};
	if (width == 2)
		cell[1] = (struct canvas_cell){0, style};
}

unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned col, unsigned width,
		    enum canvas_style style, const char *text)
{
	unsigned used = 0, each;
	uint32_t point;
	bool cut;

	if (row >= canvas->rows || col >= canvas->cols)
		return 0;
	if (width > canvas->cols - col)
		width = canvas->cols - col;
	cut = canvas_width(canvas, text) > width;
	width -= cut && width;
	while ((point = canvas_next(canvas, &text, &each)) && used + each <= width) {
		canvas_set(canvas, row, col + used, point, each, style);
		used += each;
	}
	if (cut && col + used < canvas->cols)
		canvas_set(canvas, row, col + used++, canvas->utf8 ? CUT_UTF8 : CUT_ASCII, 1,
			   style);
	return used;
}

void canvas_put_right(struct canvas *canvas, unsigned row, unsigned col, unsigned width,
		      enum canvas_style style, const char *text)
{
	unsigned used = canvas_width(canvas, text);

	canvas_put(canvas, row, used < width ? col + width - used : col, width, style, text);
}

bool canvas_part(struct canvas_line *line, enum canvas_style style, const char *format, ...)
{
	char text[512];
	unsigned width, start = line->col ? line->col + 2 : 0;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	width = canvas_width(line->canvas, text);
	if (start + width > line->end)
		return false;
	canvas_put(line->canvas, line->row, start, width, style, text);
	line->col = start + width;
	return true;
}

void canvas_style_row(struct canvas *canvas, unsigned row, enum canvas_style style)
{
	for (unsigned col = 0; row < canvas->rows && col < canvas->cols; col++)
		canvas->cells[(size_t)row * canvas->cols + col].style = style;
}

static void canvas_print_point(uint32_t point, FILE *out)
{
	if (point < 0x80)
		fputc((int)point, out);
	else if (point < 0x800)
		fprintf(out, "%c%c", (int)(0xc0 | point >> 6), (int)(0x80 | (point & 0x3f)));
	else if (point < 0x10000)
		fprintf(out, "%c%c%c", (int)(0xe0 | point >> 12), (int)(0x80 | (point >> 6 & 0x3f)),
			(int)(0x80 | (point & 0x3f)));
	else
		fprintf(out, "%c%c%c%c", (int)(0xf0 | point >> 18),
			(int)(0x80 | (point >> 12 & 0x3f)), (int)(0x80 | (point >> 6 & 0x3f)),
			(int)(0x80 | (point & 0x3f)));
}

void canvas_print_row(const struct canvas *canvas, unsigned row, FILE *out)
{
	const struct canvas_cell *cells = &canvas->cells[(size_t)row * canvas->cols];
	unsigned end = canvas->cols;

	while (end && cells[end - 1].point == ' ')
		end--;
	for (unsigned col = 0; col < end; col++) {
		if (cells[col].point)
			canvas_print_point(cells[col].point, out);
	}
}
