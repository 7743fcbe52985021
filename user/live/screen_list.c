// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list: a process's stacks, or the processes of a survey. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/export/text_fit.h"
#include "user/live/screen_internal.h"

#define WHERE_MIN 8 /* narrower, it is not shown */

static void list_put_cell(struct canvas *canvas, unsigned row, unsigned col,
			  const struct screen_column *column, enum canvas_style style,
			  const char *text)
{
	if (column->left)
		canvas_put(canvas, row, col, column->width, style, text);
	else
		canvas_put_right(canvas, row, col, column->width, style, text);
}

static void list_draw_heads(const struct live_screen *screen, const struct live_view *view,
			    struct canvas *canvas)
{
	unsigned row = live_screen_list_row(screen) - 1, behind, col = 0;
	unsigned shown = screen_columns_shown(screen, view, &behind);
	size_t count;
	const struct screen_column *columns = screen_columns(screen, &count);

	for (size_t i = 0; i < count; i++) {
		if (!(shown & 1u << i))
			continue;
		list_put_cell(canvas, row, col, &columns[i], CANVAS_HEAD, columns[i].head);
		col += columns[i].width + 1;
	}
	if (behind + WHERE_MIN <= screen->cols)
		canvas_put(canvas, row, behind, screen->cols - behind, CANVAS_HEAD,
			   screen->survey ? "WHERE" : "FUNCTION");
	canvas_style_row(canvas, row, CANVAS_HEAD);
}

static enum canvas_style list_style(const struct trend *trend, bool bad)
{
	if (bad || trend->leaking)
		return CANVAS_BAD;
	return trend->kind == TREND_GROWING ? CANVAS_WARN : CANVAS_PLAIN;
}

/* As many as fit, whole: each begins with " < ". */
static void list_draw_callers(const struct live_row *row, struct canvas *canvas, unsigned at,
			      unsigned col)
{
	const char *next = row->callers;
	char name[TEXT_FIT_MAX];

	while (next && *next) {
		const char *end = strstr(next + 1, " < ") ?: next + strlen(next);
		_cleanup_free_ char *part = strndup(next, (size_t)(end - next));
		size_t width = part ? text_shorten(name, part, SIZE_MAX) : SIZE_MAX;

		if (width > canvas->cols || col + width > canvas->cols)
			return;
		col += canvas_put(canvas, at, col, (unsigned)width, CANVAS_DIM, name);
		next = end;
	}
}

static void list_draw_site(const struct live_row *row, struct canvas *canvas, unsigned at,
			   unsigned col, enum canvas_style style)
{
	unsigned room = canvas->cols - col, used;
	char where[256], site[TEXT_FIT_MAX];

	/* A long name's end says more than its middle. */
	text_shorten(site, row->site, room);
	used = canvas_put(canvas, at, col, room, style, site);
	if (row->where && room >= used + 2 + WHERE_MIN) {
		snprintf(where, sizeof(where), "(%s)", row->where);
		used += 2 +
			canvas_put(canvas, at, col + used + 2, room - used - 2, CANVAS_DIM, where);
	}
	list_draw_callers(row, canvas, at, col + used);
}

static void list_draw_row(const struct live_screen *screen, const struct live_view *view,
			  size_t number, struct canvas *canvas, unsigned at)
{
	const struct live_process *process = screen_process(view, number);
	const struct live_row *row = screen_row(view, number);
	enum canvas_style style =
		row ? list_style(&row->trend, row->lost > 0) : list_style(&process->trend, false);
	unsigned behind, col = 0, shown = screen_columns_shown(screen, view, &behind);
	size_t count;
	const struct screen_column *columns = screen_columns(screen, &count);
	char text[CELL_MAX];

	for (size_t i = 0; i < count; i++) {
		if (!(shown & 1u << i))
			continue;
		columns[i].print(text, screen, row ? (const void *)row : process);
		list_put_cell(canvas, at, col, &columns[i], style, text);
		col += columns[i].width + 1;
	}
	if (row)
		list_draw_site(row, canvas, at, col, style);
	else if (process->where && behind + WHERE_MIN <= screen->cols)
		canvas_put(canvas, at, behind, screen->cols - behind, CANVAS_DIM, process->where);
}

static const char *list_empty_text(const struct live_screen *screen, const struct live_view *view)
{
	if (!view)
		return screen->survey ? "looking at all processes ..." : "";
	if (view->searching)
		return "looking for it ...";
	if (view->request.filter[0])
		return screen->survey ? "no process has that in its name, unit or container "
					"(Esc shows all)"
				      : "no stack has that in a name (Esc shows all)";
	if (view->request.changes)
		return "nothing has changed since the mark";
	return view->stacks ? "nothing to show in this order (o: another one)"
			    : "nothing has been allocated yet";
}

void screen_draw_list(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas)
{
	unsigned first = live_screen_list_row(screen), rows = live_screen_list_rows(screen);

	list_draw_heads(screen, view, canvas);
	for (unsigned i = 0; i < rows; i++) {
		size_t number = screen->top + i;

		if (!screen_row(view, number) && !screen_process(view, number))
			continue;
		list_draw_row(screen, view, number, canvas, first + i);
		if (number == screen->cursor)
			canvas_style_row(canvas, first + i, CANVAS_CHOSEN);
	}
	if (rows && (!view || !view->ranked))
		canvas_put(canvas, first, 0, screen->cols, CANVAS_DIM,
			   list_empty_text(screen, view));
}
