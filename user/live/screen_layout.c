// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where things are on the screen. */
#include "user/live/screen_internal.h"

/* Under the process's lines and the heads of the columns; on a low screen under one line only. */
unsigned live_screen_list_row(const struct live_screen *screen)
{
	return screen->rows >= SCREEN_LOW ? 4 : 2;
}

unsigned live_screen_list_rows(const struct live_screen *screen)
{
	unsigned above = live_screen_list_row(screen) + 1; /* and the bottom line */

	return screen->rows > above ? screen->rows - above : 0;
}

/* Under the process's first line. */
unsigned live_screen_page_rows(const struct live_screen *screen)
{
	return screen->rows > 2 ? screen->rows - 2 : 0;
}

/* Finds its index in the view; false: the view does not have it. */
static bool screen_find(const struct live_view *view, size_t number, size_t *at)
{
	*at = view && number >= view->first ? number - view->first : 0;
	return view && number >= view->first && *at < view->row_count;
}

const struct live_row *screen_row(const struct live_view *view, size_t number)
{
	size_t at;

	return screen_find(view, number, &at) && view->rows ? &view->rows[at] : NULL;
}

const struct live_process *screen_process(const struct live_view *view, size_t number)
{
	size_t at;

	return screen_find(view, number, &at) && view->processes ? &view->processes[at] : NULL;
}

static const struct {
	const char *name, *text;
} survey_orders[SURVEY_ORDERS] = {
	[SURVEY_BY_SUSPICION] = {"suspicion", "what grows, and how surely"},
	[SURVEY_BY_MEMORY] = {"memory", "anonymous memory, resident and swapped out"},
	[SURVEY_BY_RSS] = {"rss", "what is resident, of files and shared memory, too"},
	[SURVEY_BY_GROWTH] = {"growth", "bytes an hour"},
	[SURVEY_BY_LIMIT] = {"limit", "time until the memory is used up"},
	[SURVEY_BY_PID] = {"pid", "the process's number"},
	[SURVEY_BY_NAME] = {"name", "the command's name"},
};

unsigned screen_orders(const struct live_screen *screen)
{
	return screen->survey ? SURVEY_ORDERS : RANK_ORDERS;
}

const char *screen_order_name(const struct live_screen *screen, unsigned order)
{
	return screen->survey ? survey_orders[order].name : rank_name((enum rank_by)order);
}

const char *screen_order_text(const struct live_screen *screen, unsigned order)
{
	return screen->survey ? survey_orders[order].text : rank_text((enum rank_by)order);
}

const char *screen_order_lacks(const struct live_screen *screen, const struct live_view *view,
			       unsigned order)
{
	if (screen->survey || !view || view->state == LIVE_STARTING)
		return NULL;
	switch ((enum rank_by)order) {
	case RANK_LIFETIME:
		return view->figures.lifetimes ? NULL : "--lifetimes";
	case RANK_TEMPORARY:
		return view->figures.temporary ? NULL : "--temporary";
	case RANK_PEAK:
		return view->figures.peak ? NULL : "--peak";
	default:
		return NULL;
	}
}
