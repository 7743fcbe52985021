// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Draws the screen. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/live/screen_internal.h"
#include "user/model/untraced_heaps.h"

/* ---- the process -------------------------------------------------------------------------- */

static const char *draw_state(const struct live_view *view)
{
	static const char *const texts[] = {
		[LIVE_STARTING] = "nothing seen yet",
		[LIVE_RUNNING] = NULL,
		[LIVE_EXITED] = "HAS ENDED",
		[LIVE_EXECED] = "HAS BECOME ANOTHER PROGRAM",
	};

	return texts[view->state];
}

/* That it has ended well needs no more words. */
static void draw_put_state(struct canvas_line *line, const struct live_view *view)
{
	const struct process_end *end = &view->end;
	char text[PROCESS_END_TEXT_MAX];

	if (view->state == LIVE_EXITED && end->cause && (end->cause != END_EXIT || end->code) &&
	    canvas_part(line, CANVAS_BAD, "%s: %s", draw_state(view), process_end_text(end, text)))
		return;
	canvas_part(line, CANVAS_BAD, "%s", draw_state(view));
}

static void draw_title(const struct live_screen *screen, const struct live_view *view,
		       struct canvas *canvas)
{
	struct canvas_line line = {.canvas = canvas, .end = canvas->cols};
	char age[FORMAT_DURATION_MAX];

	if (!view) {
		canvas_part(&line, CANVAS_BOLD, "memleakbpf top");
		return;
	}
	if (screen->survey)
		canvas_part(&line, CANVAS_BOLD, "%zu %s", view->survey.processes,
			    view->survey.processes == 1 ? "process" : "processes");
	else
		canvas_part(&line, CANVAS_BOLD, "%d (%s)", view->pid, view->comm);
	if (!screen->survey && draw_state(view))
		draw_put_state(&line, view);
	if (screen->request.paused)
		canvas_part(&line, CANVAS_WARN, "PAUSED");
	canvas_part(&line, CANVAS_PLAIN, "%s", format_duration(age, view->elapsed_ns));
	if (screen->request.changes)
		canvas_part(&line, CANVAS_PLAIN, "changes in %s",
			    format_duration(age, view->mark_age_ns));
	else
		canvas_part(&line, CANVAS_PLAIN, "by %s",
			    screen_order_name(screen, screen->request.sort));
	if (screen->request.filter[0])
		canvas_part(&line, CANVAS_WARN, "/%s", screen->request.filter);
	if (view->searching)
		canvas_part(&line, CANVAS_DIM, "%u %% searched", view->searched);
	if (view->ranked)
		canvas_part(&line, CANVAS_DIM, "%zu/%zu", screen->cursor + 1, view->ranked);
}

static void draw_memory(const struct live_view *view, struct canvas *canvas, unsigned row)
{
	struct canvas_line line = {.canvas = canvas, .row = row, .end = canvas->cols};
	char bytes[FORMAT_BYTES_MAX], freed[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	canvas_part(&line, CANVAS_BOLD, "live %s", format_bytes(bytes, view->live.bytes));
	if (view->rss)
		canvas_part(&line, CANVAS_PLAIN, "RSS %s", format_bytes(bytes, view->rss));
	if (view->untraced)
		canvas_part(&line, CANVAS_WARN, "untraced growth %s",
			    format_bytes(bytes, view->untraced));
	canvas_part(&line, CANVAS_PLAIN, "%s blocks", format_grouped(count, view->live.count));
	if (view->judged)
		canvas_part(&line, view->judged_lost ? CANVAS_BAD : CANVAS_GOOD, "lost blocks %s",
			    format_bytes(bytes, view->judged_lost));
	if (view->rates_known)
		canvas_part(&line, CANVAS_PLAIN, "alloc %s/s, free %s/s",
			    format_bytes(bytes, view->alloc_rate),
			    format_bytes(freed, view->free_rate));
	for (unsigned i = 0; i < UNTRACED_HEAPS; i++) {
		if (view->heaps & 1u << i)
			canvas_part(&line, CANVAS_WARN, "%s is not traced",
				    untraced_heap_text((enum untraced_heap)i));
	}
}

static void draw_cost(const struct live_view *view, struct canvas *canvas, unsigned row)
{
	struct canvas_line line = {.canvas = canvas, .row = row, .end = canvas->cols};
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (view->lost)
		canvas_part(&line, CANVAS_BAD, "not recorded %s",
			    format_grouped(count, view->lost));
	else
		canvas_part(&line, CANVAS_PLAIN, "not recorded 0");
	if (view->attached)
		canvas_part(&line, CANVAS_PLAIN, "%s", view->attached);
	if (view->sample_bytes)
		canvas_part(&line, CANVAS_PLAIN, "one in %s",
			    format_bytes(bytes, view->sample_bytes));
	if (view->cost.probes_known)
		canvas_part(&line, CANVAS_PLAIN, "probes %.1f %% of a CPU",
			    100 * view->cost.probes);
	canvas_part(&line, CANVAS_PLAIN, "tool %.1f %%", 100 * view->cost.tool);
	if (view->recording)
		canvas_part(&line, CANVAS_WARN, "recording");
	if (view->lost_text)
		canvas_part(&line, CANVAS_BAD, "%s", view->lost_text);
}

static void draw_survey(const struct live_view *view, struct canvas *canvas)
{
	struct canvas_line line = {.canvas = canvas, .row = 1, .end = canvas->cols};
	const struct live_survey *s = &view->survey;

	canvas_part(&line, s->growing ? CANVAS_WARN : CANVAS_GOOD, "%zu growing", s->growing);
	canvas_part(&line, CANVAS_PLAIN, "probes on %zu", s->watched);
	line = (struct canvas_line){.canvas = canvas, .row = 2, .end = canvas->cols};
	canvas_part(&line, CANVAS_PLAIN, "of a CPU: probes %.2f %%", 100 * s->probes);
	if (s->budget > 0)
		canvas_part(&line, CANVAS_PLAIN, "budget %g %%", 100 * s->budget);
	if (s->tool_known)
		canvas_part(&line, CANVAS_PLAIN, "tool %.2f %%", 100 * s->tool);
}

static void draw_process(const struct live_screen *screen, const struct live_view *view,
			 struct canvas *canvas)
{
	if (!view || canvas->rows < SCREEN_LOW)
		return;
	if (screen->survey) {
		draw_survey(view, canvas);
		return;
	}
	draw_memory(view, canvas, 1);
	draw_cost(view, canvas, 2);
}

/* ---- the bottom line ---------------------------------------------------------------------- */

static const char *const stack_hints[] = {
	"?:help", "q:quit",    "Enter:stack", "/:filter", "o:order", "v:verdict", "i:inspect",
	"m:mark", "d:changes", "p:pause",     "s:save",	  "g:cost",  NULL,
};
static const char *const survey_hints[] = {
	"?:help", "q:quit", "Enter:what it allocates", "/:filter", "o:order", "p:pause", NULL,
};

static void draw_keys(const struct live_screen *screen, struct canvas *canvas, unsigned row)
{
	struct canvas_line line = {.canvas = canvas, .row = row, .end = canvas->cols};

	if (screen->request.page != LIVE_PAGE_NONE) {
		canvas_part(&line, CANVAS_DIM, "Esc:back  arrows, PgUp, PgDn:scroll%s",
			    screen->request.page == LIVE_PAGE_COST ? "  g:switch" : "");
		return;
	}
	for (const char *const *hint = screen->survey ? survey_hints : stack_hints; *hint; hint++) {
		if (!canvas_part(&line, CANVAS_DIM, "%s", *hint))
			break;
	}
}

static void draw_bottom(const struct live_screen *screen, const struct live_view *view,
			struct canvas *canvas)
{
	unsigned row = canvas->rows - 1, used;

	if (screen->overlay == LIVE_FILTER) {
		used = canvas_put(canvas, row, 0, canvas->cols, CANVAS_BOLD, "Part of a name: ");
		used += canvas_put(canvas, row, used, canvas->cols - used, CANVAS_PLAIN,
				   screen->typed);
		canvas_put(canvas, row, used, 1, CANVAS_HEAD, " ");
	} else if (screen->overlay == LIVE_SAVES) {
		canvas_put(canvas, row, 0, canvas->cols, CANVAS_BOLD,
			   view && view->recording
				   ? "s: a snapshot now   r: end the recording   Esc"
				   : "s: a snapshot now   r: a recording from now on   Esc");
	} else if (screen->busy) {
		used = canvas_put(canvas, row, 0, canvas->cols, CANVAS_WARN, screen->busy);
		canvas_put(canvas, row, used, canvas->cols - used, CANVAS_WARN, " ...");
	} else if (screen->message[0]) {
		canvas_put(canvas, row, 0, canvas->cols, CANVAS_BOLD, screen->message);
	} else {
		draw_keys(screen, canvas, row);
	}
}

/* ---- pages -------------------------------------------------------------------------------- */

static void draw_text(const struct live_screen *screen, const struct live_text *text,
		      struct canvas *canvas)
{
	for (unsigned i = 0; i < live_screen_page_rows(screen); i++) {
		if (screen->scroll + i < text->count)
			canvas_put(canvas, i + 1, 0, canvas->cols, CANVAS_PLAIN,
				   text->lines[screen->scroll + i]);
	}
}

static void draw_help(const struct live_screen *screen, struct canvas *canvas)
{
	struct live_text text;

	if (!screen_help(screen, &text))
		draw_text(screen, &text, canvas);
	live_text_release(&text);
}

static void draw_page(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas)
{
	const struct live_request *wanted = &screen->request;

	if (view && view->request.page == wanted->page && view->request.stack == wanted->stack &&
	    view->text.count)
		draw_text(screen, &view->text, canvas);
	else
		canvas_put(canvas, 1, 0, canvas->cols, CANVAS_DIM, "...");
}

static void draw_orders(const struct live_screen *screen, const struct live_view *view,
			struct canvas *canvas)
{
	unsigned page = live_screen_page_rows(screen);
	size_t first = page && screen->order >= page ? screen->order - page + 1 : 0;

	for (unsigned i = 0; i < page && first + i < screen_orders(screen); i++) {
		unsigned by = (unsigned)(first + i);
		const char *lacks = screen_order_lacks(screen, view, by);
		char text[160];

		snprintf(text, sizeof(text), " %-10s %s%s%s", screen_order_name(screen, by),
			 screen_order_text(screen, by), lacks ? "; not without " : "", lacks ?: "");
		canvas_put(canvas, i + 1, 0, canvas->cols, lacks ? CANVAS_DIM : CANVAS_PLAIN, text);
		if (first + i == screen->order)
			canvas_style_row(canvas, i + 1, CANVAS_CHOSEN);
	}
}

void live_screen_draw(const struct live_screen *screen, const struct live_view *view,
		      struct canvas *canvas)
{
	canvas_clear(canvas);
	if (!canvas->rows || !canvas->cols)
		return;
	draw_title(screen, view, canvas);
	if (screen->overlay == LIVE_HELP) {
		draw_help(screen, canvas);
	} else if (screen->overlay == LIVE_ORDERS) {
		draw_orders(screen, view, canvas);
	} else if (screen->request.page != LIVE_PAGE_NONE) {
		draw_page(screen, view, canvas);
	} else if (canvas->rows > 2) {
		draw_process(screen, view, canvas);
		screen_draw_list(screen, view, canvas);
	}
	if (canvas->rows > 1)
		draw_bottom(screen, view, canvas);
}
