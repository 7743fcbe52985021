// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What keys do. */
#include "user/live/screen.h"

#include <stdio.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/live/screen_internal.h"

void live_screen_init(struct live_screen *screen, unsigned sort, bool utf8)
{
	*screen = (struct live_screen){.utf8 = utf8, .request = {.sort = sort}};
}

void live_screen_init_survey(struct live_screen *screen, bool utf8)
{
	*screen = (struct live_screen){.utf8 = utf8, .survey = true};
}

void live_screen_say(struct live_screen *screen, const char *message)
{
	snprintf(screen->message, sizeof(screen->message), "%s", message);
}

/* ---- the list ----------------------------------------------------------------------------- */

/*
 * Asks for the visible rows, a page before and one behind, so that rows are there already when the
 * user scrolls.
 */
static void screen_want_rows(struct live_screen *screen)
{
	size_t page = live_screen_list_rows(screen);

	screen->request.first = screen->top > page ? screen->top - page : 0;
	screen->request.count = screen->top - screen->request.first + 2 * page;
	screen->request.cols = screen->cols;
}

static void screen_move_to(struct live_screen *screen, size_t row, size_t count)
{
	size_t page = live_screen_list_rows(screen);

	if (row >= count)
		row = count ? count - 1 : 0;
	screen->cursor = row;
	if (row < screen->top)
		screen->top = row;
	else if (page && row >= screen->top + page)
		screen->top = row - page + 1;
	if (screen->top && screen->top + page > count)
		screen->top = count > page ? count - page : 0;
	screen_want_rows(screen);
}

void live_screen_resize(struct live_screen *screen, unsigned rows, unsigned cols)
{
	screen->rows = rows;
	screen->cols = cols;
	screen_move_to(screen, screen->cursor, SIZE_MAX);
}

/* For the screen only: in a log, or in the shell afterwards, nobody has a use for it. */
static void screen_tell_mark(struct live_screen *screen, const struct live_view *view)
{
	char live[FORMAT_BYTES_MAX], line[128];

	screen->marks_told = view->request.marks;
	snprintf(line, sizeof(line), "marked: %s live; d shows what changes from here on",
		 format_bytes(live, view->mark_live));
	live_screen_say(screen, line);
}

void live_screen_take(struct live_screen *screen, const struct live_view *view)
{
	bool beyond = screen->top && screen->top + live_screen_list_rows(screen) > view->ranked;

	if (screen->cursor >= view->ranked || beyond)
		screen_move_to(screen, screen->cursor, view->ranked);
	if (view->marked && view->request.marks != screen->marks_told)
		screen_tell_mark(screen, view);
}

/* Moves in a list of rows or lines; false: the key means something else. */
static bool screen_scroll(size_t *at, size_t page, size_t last, enum live_input key)
{
	size_t to = *at;

	switch (key) {
	case LIVE_KEY_UP:
		to -= to > 0;
		break;
	case LIVE_KEY_WHEEL_UP:
		to -= to > 3 ? 3 : to;
		break;
	case LIVE_KEY_DOWN:
		to++;
		break;
	case LIVE_KEY_WHEEL_DOWN:
		to += 3;
		break;
	case LIVE_KEY_PAGE_UP:
		to -= to > page ? page : to;
		break;
	case LIVE_KEY_PAGE_DOWN:
		to += page;
		break;
	case LIVE_KEY_HOME:
		to = 0;
		break;
	case LIVE_KEY_END:
		to = last;
		break;
	default:
		return false;
	}
	*at = to > last ? last : to;
	return true;
}

static void screen_sort_by(struct live_screen *screen, unsigned by)
{
	screen->request.sort = by;
	screen->request.changes = false;
	screen_move_to(screen, 0, SIZE_MAX);
}

static void screen_open(struct live_screen *screen, enum live_page page, uint64_t stack)
{
	screen->request.page = page;
	screen->request.stack = stack;
	screen->scroll = 0;
}

static void screen_open_stack(struct live_screen *screen, const struct live_view *view)
{
	const struct live_process *process = screen_process(view, screen->cursor);
	const struct live_row *row = screen_row(view, screen->cursor);

	if (row || process)
		screen_open(screen, LIVE_PAGE_STACK, row ? row->id : process->id);
}

static void screen_click(struct live_screen *screen, const struct live_event *event,
			 const struct live_view *view)
{
	unsigned list = live_screen_list_row(screen);
	size_t number = screen->top + event->row - list;
	unsigned by;

	if (event->row + 1 == list && screen_column_at(screen, view, event->col, &by)) {
		screen_sort_by(screen, by);
		return;
	}
	if (event->row < list || event->row - list >= live_screen_list_rows(screen) || !view ||
	    number >= view->ranked)
		return;
	if (screen->cursor == number)
		screen_open_stack(screen, view);
	else
		screen_move_to(screen, number, view->ranked);
}

/* ---- letters ------------------------------------------------------------------------------ */

/* Takes the next order that has figures. */
static void screen_next_order(struct live_screen *screen, const struct live_view *view, int step)
{
	unsigned orders = screen_orders(screen), by = screen->request.sort;

	do {
		by = (by + orders + (unsigned)step) % orders;
	} while (by != screen->request.sort && screen_order_lacks(screen, view, by));
	screen_sort_by(screen, by);
}

static void screen_choose_order(struct live_screen *screen, const struct live_view *view)
{
	unsigned by = (unsigned)screen->order;
	const char *lacks = screen_order_lacks(screen, view, by);
	char message[160];

	if (!lacks) {
		screen_sort_by(screen, by);
		return;
	}
	snprintf(message, sizeof(message), "%s: not kept; start top with %s",
		 screen_order_name(screen, by), lacks);
	live_screen_say(screen, message);
}

static void screen_toggle_changes(struct live_screen *screen, const struct live_view *view)
{
	if (!screen->request.changes && !(view && view->marked)) {
		live_screen_say(screen, "nothing is marked yet: m marks now, d shows what has "
					"changed since");
		return;
	}
	screen->request.changes = !screen->request.changes;
	screen_move_to(screen, 0, SIZE_MAX);
}

/* Does the process live? Some keys need that. */
static bool screen_lives(struct live_screen *screen, const struct live_view *view)
{
	if (view && view->state == LIVE_RUNNING)
		return true;
	live_screen_say(screen, "the process has ended: there is no memory left to look at");
	return false;
}

static void screen_open_orders(struct live_screen *screen)
{
	screen->overlay = LIVE_ORDERS;
	screen->order = screen->request.sort;
}

/* Keys for one process only. */
static void screen_process_letter(struct live_screen *screen, uint32_t letter,
				  const struct live_view *view)
{
	struct live_request *request = &screen->request;

	switch (letter) {
	case 'm':
		request->marks++;
		break;
	case 'd':
		screen_toggle_changes(screen, view);
		break;
	case 'v':
		request->verdicts += screen_lives(screen, view);
		break;
	case 'i':
		if (screen_lives(screen, view)) {
			request->inspections++;
			screen_open(screen, LIVE_PAGE_INSPECTION, 0);
		}
		break;
	case 's':
		screen->overlay = LIVE_SAVES;
		break;
	case 'g':
		if (request->page == LIVE_PAGE_COST)
			request->switches += screen_lives(screen, view);
		else
			screen_open(screen, LIVE_PAGE_COST, 0);
		break;
	}
}

static void screen_letter(struct live_screen *screen, uint32_t letter, const struct live_view *view)
{
	switch (letter) {
	case 'q':
		screen->quit = true;
		break;
	case '?':
	case 'h':
		screen->overlay = LIVE_HELP;
		screen->scroll = 0;
		break;
	case '/':
		screen->overlay = LIVE_FILTER;
		memcpy(screen->typed, screen->request.filter, sizeof(screen->typed));
		break;
	case 'o':
		screen_open_orders(screen);
		break;
	case '<':
		screen_next_order(screen, view, -1);
		break;
	case '>':
		screen_next_order(screen, view, 1);
		break;
	case 'p':
		screen->request.paused = !screen->request.paused;
		break;
	default:
		if (!screen->survey)
			screen_process_letter(screen, letter, view);
	}
}

/* ---- overlays ----------------------------------------------------------------------------- */

/* Adds a character, where it fits. */
static void screen_type(char *text, size_t size, uint32_t point)
{
	size_t len = strlen(text), bytes = point < 0x80	     ? 1
					   : point < 0x800   ? 2
					   : point < 0x10000 ? 3
							     : 4;
	static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};

	if (point < 0x20 || point == 0x7f || len + bytes >= size)
		return;
	for (size_t i = bytes; i-- > 1;) {
		text[len + i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	text[len] = (char)(marks[bytes] | point);
	text[len + bytes] = '\0';
}

static void screen_rub_out(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len ? len - 1 : 0] = '\0';
}

static void screen_in_filter(struct live_screen *screen, const struct live_event *event)
{
	switch (event->key) {
	case LIVE_KEY_CHAR:
		screen_type(screen->typed, sizeof(screen->typed), event->point);
		break;
	case LIVE_KEY_BACKSPACE:
		screen_rub_out(screen->typed);
		break;
	case LIVE_KEY_ENTER:
		memcpy(screen->request.filter, screen->typed, sizeof(screen->typed));
		screen->overlay = LIVE_NO_OVERLAY;
		screen_move_to(screen, 0, SIZE_MAX);
		break;
	case LIVE_KEY_ESCAPE:
		screen->overlay = LIVE_NO_OVERLAY;
		break;
	default:
		break;
	}
}

static void screen_in_orders(struct live_screen *screen, const struct live_event *event,
			     const struct live_view *view)
{
	if (screen_scroll(&screen->order, 1, screen_orders(screen) - 1, event->key))
		return;
	if (event->key == LIVE_KEY_ENTER)
		screen_choose_order(screen, view);
	if (event->key == LIVE_KEY_ENTER || event->key == LIVE_KEY_ESCAPE ||
	    (event->key == LIVE_KEY_CHAR && (event->point == 'q' || event->point == 'o')))
		screen->overlay = LIVE_NO_OVERLAY;
}

/* Any other key answers neither. */
static void screen_in_saves(struct live_screen *screen, const struct live_event *event,
			    const struct live_view *view)
{
	screen->overlay = LIVE_NO_OVERLAY;
	if (event->key != LIVE_KEY_CHAR)
		return;
	if (event->point == 's')
		screen->request.saves++;
	else if (event->point == 'r' && ((view && view->recording) || screen_lives(screen, view)))
		screen->request.recordings++;
}

static void screen_in_help(struct live_screen *screen, const struct live_event *event)
{
	size_t page = live_screen_page_rows(screen), lines;
	struct live_text text;

	screen_help(screen, &text);
	lines = text.count;
	live_text_release(&text);
	if (!screen_scroll(&screen->scroll, page, lines > page ? lines - page : 0, event->key))
		screen->overlay = LIVE_NO_OVERLAY;
}

/* A page's keys; false: the list's meaning of the key holds. */
static bool screen_in_page(struct live_screen *screen, const struct live_event *event,
			   const struct live_view *view)
{
	size_t page = live_screen_page_rows(screen);
	size_t lines = view && view->request.page == screen->request.page ? view->text.count : 0;

	if (screen_scroll(&screen->scroll, page, lines > page ? lines - page : 0, event->key))
		return true;
	if (event->key == LIVE_KEY_CLICK)
		return true;
	if (event->key == LIVE_KEY_ESCAPE || event->key == LIVE_KEY_BACKSPACE ||
	    event->key == LIVE_KEY_LEFT || event->key == LIVE_KEY_ENTER ||
	    (event->key == LIVE_KEY_CHAR && event->point == 'q')) {
		screen_open(screen, LIVE_PAGE_NONE, 0);
		return true;
	}
	return false;
}

/* Escape takes back what narrows the list, the latest first. */
static void screen_escape(struct live_screen *screen)
{
	if (screen->request.filter[0])
		screen->request.filter[0] = '\0';
	else
		screen->request.changes = false;
	screen_move_to(screen, 0, SIZE_MAX);
}

static void screen_in_list(struct live_screen *screen, const struct live_event *event,
			   const struct live_view *view)
{
	size_t count = view ? view->ranked : 0, at = screen->cursor;

	if (screen_scroll(&at, live_screen_list_rows(screen), count ? count - 1 : 0, event->key)) {
		screen_move_to(screen, at, count);
		return;
	}
	switch (event->key) {
	case LIVE_KEY_LEFT:
		screen_next_order(screen, view, -1);
		break;
	case LIVE_KEY_RIGHT:
		screen_next_order(screen, view, 1);
		break;
	case LIVE_KEY_ENTER:
		screen_open_stack(screen, view);
		break;
	case LIVE_KEY_ESCAPE:
		screen_escape(screen);
		break;
	case LIVE_KEY_CLICK:
		screen_click(screen, event, view);
		break;
	default:
		break;
	}
}

void live_screen_event(struct live_screen *screen, const struct live_event *event,
		       const struct live_view *view)
{
	screen->message[0] = '\0';
	switch (screen->overlay) {
	case LIVE_FILTER:
		screen_in_filter(screen, event);
		return;
	case LIVE_ORDERS:
		screen_in_orders(screen, event, view);
		return;
	case LIVE_HELP:
		screen_in_help(screen, event);
		return;
	case LIVE_SAVES:
		screen_in_saves(screen, event, view);
		return;
	case LIVE_NO_OVERLAY:
		break;
	}
	if (screen->request.page != LIVE_PAGE_NONE && screen_in_page(screen, event, view))
		return;
	if (event->key == LIVE_KEY_CHAR)
		screen_letter(screen, event->point, view);
	else if (screen->request.page == LIVE_PAGE_NONE)
		screen_in_list(screen, event, view);
}
