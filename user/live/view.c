// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/text_fit.h"

#define INDENT 8 /* of lines that continue the one before */

bool live_request_same(const struct live_request *a, const struct live_request *b)
{
	return a->sort == b->sort && a->changes == b->changes && a->paused == b->paused &&
	       !strcmp(a->filter, b->filter) && a->first == b->first && a->count == b->count &&
	       a->page == b->page && a->stack == b->stack && a->cols == b->cols &&
	       a->marks == b->marks && a->verdicts == b->verdicts &&
	       a->inspections == b->inspections && a->saves == b->saves &&
	       a->recordings == b->recordings && a->switches == b->switches;
}

struct live_view *live_view_new(size_t rows, bool survey)
{
	struct live_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	if (survey)
		view->processes = calloc(rows + 1, sizeof(*view->processes));
	else
		view->rows = calloc(rows + 1, sizeof(*view->rows));
	if (view->rows || view->processes)
		return view;
	free(view);
	return NULL;
}

void live_view_free(struct live_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; view->rows && i < view->row_count; i++) {
		free(view->rows[i].site);
		free(view->rows[i].where);
		free(view->rows[i].callers);
	}
	for (size_t i = 0; view->processes && i < view->row_count; i++)
		free(view->processes[i].where);
	free(view->rows);
	free(view->processes);
	live_text_release(&view->text);
	free(view);
}

void live_text_release(struct live_text *text)
{
	for (size_t i = 0; i < text->count; i++)
		free(text->lines[i]);
	free(text->lines);
	*text = (struct live_text){0};
}

/*
 * How many bytes of a line of `len` go into `width` columns, if each character takes one. Ends at a
 * blank, if one is near.
 */
static size_t text_fitting(const char *from, size_t len, unsigned width)
{
	const char *at = from, *blank = NULL;
	unsigned columns = 0;

	while (at < from + len && columns < width) {
		if (*at == ' ' && columns > width / 2)
			blank = at;
		utf8_next(&at);
		columns++;
	}
	if (at >= from + len)
		return len;
	return (size_t)((blank ?: at) - from);
}

static int text_add(struct live_text *text, size_t *room, unsigned indent, const char *from,
		    size_t len)
{
	char *line;

	if (!RESERVE_ITEM(text->lines, text->count, *room, 32) ||
	    asprintf(&line, "%*s%.*s", (int)indent, "", (int)len, from) < 0)
		return -ENOMEM;
	text->lines[text->count++] = line;
	return 0;
}

/*
 * Breaks the text between words; NULL: the caller breaks it, as it has none or the screen is
 * narrow.
 */
static char *text_between_words(const char *from, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	text_wrap(out, from, width);
	if (!close_memstream(out))
		return text;
	free(text);
	return NULL;
}

int live_text_set(struct live_text *text, const char *from, unsigned width)
{
	_cleanup_free_ char *broken = text_between_words(from, width);
	const char *rest = broken;
	unsigned indent = 0;
	size_t room = 0;
	int err = broken ? 0 : -ENOMEM;

	if (width < 2 * INDENT)
		width = UINT_MAX;
	live_text_release(text);
	while (!err && *rest) {
		size_t len = strcspn(rest, "\n"), used = text_fitting(rest, len, width - indent);

		err = text_add(text, &room, indent, rest, used);
		rest += used;
		indent = used < len ? INDENT : 0;
		rest += used < len ? *rest == ' ' : *rest == '\n';
	}
	return err;
}
