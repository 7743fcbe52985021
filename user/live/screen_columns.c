// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The columns of the lists. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/live/screen_internal.h"

#define SITE_MIN 24 /* the function's name gets so many columns, or half of the screen */

/* ---- of a process's stacks ---------------------------------------------------------------- */

static void column_live(char text[static CELL_MAX], const struct live_screen *screen,
			const void *of)
{
	const struct live_row *row = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", format_bytes(bytes, row->live.bytes));
}

static void column_count(char text[static CELL_MAX], const struct live_screen *screen,
			 const void *of)
{
	const struct live_row *row = of;
	char count[FORMAT_GROUPED_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", format_grouped(count, row->live.count));
}

/* Bytes an hour, by the trend; an unknown or unfollowed trend is not 0. */
static void column_growth(char text[static CELL_MAX], const struct live_screen *screen,
			  const void *of)
{
	const struct live_row *row = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	if (row->trend.kind == TREND_UNKNOWN || !row->trend.growth_known)
		snprintf(text, CELL_MAX, "-");
	else if (row->trend.kind == TREND_STEADY)
		snprintf(text, CELL_MAX, "steady");
	else
		snprintf(text, CELL_MAX, "%s",
			 format_bytes_signed(bytes, saturate_i64(row->trend.growth * 3600)));
}

static void column_age(char text[static CELL_MAX], const struct live_screen *screen, const void *of)
{
	const struct live_row *row = of;
	char age[FORMAT_DURATION_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", row->oldest_ns ? format_duration(age, row->oldest_ns) : "-");
}

static void column_rate(char text[static CELL_MAX], const struct live_screen *screen,
			const void *of)
{
	const struct live_row *row = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", row->rate_known ? format_bytes(bytes, row->rate) : "-");
}

static void column_lost(char text[static CELL_MAX], const struct live_screen *screen,
			const void *of)
{
	const struct live_row *row = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", row->lost ? format_bytes(bytes, row->lost) : "-");
}

static void column_change(char text[static CELL_MAX], const struct live_screen *screen,
			  const void *of)
{
	const struct live_row *row = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", format_bytes_signed(bytes, row->change));
}

static bool column_if_changes(const struct live_view *view)
{
	return view && view->marked && view->request.changes;
}

static bool column_if_judged(const struct live_view *view)
{
	return view && view->judged;
}

static const struct screen_column stack_columns[] = {
	{"CHANGE", 11, RANK_LIVE, 1, column_change, column_if_changes, false},
	{"LIVE", 10, RANK_LIVE, 0, column_live, NULL, false},
	{"LOST", 10, RANK_SUSPECT, 2, column_lost, column_if_judged, false},
	{"BLOCKS", 9, RANK_COUNT, 5, column_count, NULL, false},
	{"GROWTH/h", 11, RANK_GROWTH, 3, column_growth, NULL, false},
	{"OLDEST", 6, RANK_AGE, 4, column_age, NULL, false},
	{"ALLOC/s", 10, RANK_RATE, 6, column_rate, NULL, false},
};

/* ---- of a survey -------------------------------------------------------------------------- */

static void column_pid(char text[static CELL_MAX], const struct live_screen *screen, const void *of)
{
	const struct live_process *p = of;

	(void)screen;
	snprintf(text, CELL_MAX, "%d", (int)p->pid);
}

static void column_command(char text[static CELL_MAX], const struct live_screen *screen,
			   const void *of)
{
	const struct live_process *p = of;

	(void)screen;
	snprintf(text, CELL_MAX, "%s", p->comm);
}

static void column_memory(char text[static CELL_MAX], const struct live_screen *screen,
			  const void *of)
{
	const struct live_process *p = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", format_bytes_short(bytes, (double)p->bytes));
}

static void column_rss(char text[static CELL_MAX], const struct live_screen *screen, const void *of)
{
	const struct live_process *p = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s", p->rss ? format_bytes_short(bytes, (double)p->rss) : "-");
}

static void column_process_growth(char text[static CELL_MAX], const struct live_screen *screen,
				  const void *of)
{
	const struct live_process *p = of;
	char bytes[FORMAT_BYTES_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s",
		 p->trend.growth_known ? format_bytes_short_signed(bytes, p->trend.growth * 3600)
				       : "-");
}

static void column_trend(char text[static CELL_MAX], const struct live_screen *screen,
			 const void *of)
{
	const struct live_process *p = of;
	const char *name = trend_name(p->trend.kind);

	(void)screen;
	if (p->ended)
		name = "ended";
	else if (p->trend.leaking)
		name = "leaking";
	else if (p->trend.kind == TREND_TOO_EARLY)
		name = "early";
	snprintf(text, CELL_MAX, "%s", name ?: "-");
}

/* From the lowest to the highest of the watch; less than a twentieth of it, or 1 MiB, is flat. */
static void column_spark(char text[static CELL_MAX], const struct live_screen *screen,
			 const void *of)
{
	static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char ascii[] = "_.-=+*%#";
	const struct live_process *p = of;
	double low = INFINITY, high = -INFINITY, range;
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < p->spark_count; i++) {
		low = fmin(low, p->spark[i]);
		high = fmax(high, p->spark[i]);
	}
	range = fmax(fmax(high - low, 0.05 * high), 1024.0 * 1024);
	for (size_t i = 0; i < p->spark_count; i++) {
		size_t level = (size_t)((p->spark[i] - low) / range * 7.99);

		used += (size_t)(screen->utf8 ? snprintf(text + used, CELL_MAX - used, "%s",
							 blocks[level])
					      : snprintf(text + used, CELL_MAX - used, "%c",
							 ascii[level]));
	}
}

static void column_limit(char text[static CELL_MAX], const struct live_screen *screen,
			 const void *of)
{
	const struct live_process *p = of;
	char left[FORMAT_DURATION_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s",
		 p->limit_known ? format_duration(left, saturate_u64(p->limit_s * 1e9)) : "-");
}

static void column_since(char text[static CELL_MAX], const struct live_screen *screen,
			 const void *of)
{
	const struct live_process *p = of;
	char ago[FORMAT_DURATION_MAX];

	(void)screen;
	snprintf(text, CELL_MAX, "%s",
		 p->grows_for_ns ? format_duration(ago, p->grows_for_ns) : "-");
}

static void column_full(char text[static CELL_MAX], const struct live_screen *screen,
			const void *of)
{
	const struct live_process *p = of;

	(void)screen;
	snprintf(text, CELL_MAX, "%s", p->full_at[0] ? p->full_at : "-");
}

static void column_probes(char text[static CELL_MAX], const struct live_screen *screen,
			  const void *of)
{
	const struct live_process *p = of;

	(void)screen;
	snprintf(text, CELL_MAX, "%s", p->watched ? "now" : p->found ? "seen" : "");
}

/* 80 columns: as short as in the survey's table, where all fit. */
static const struct screen_column process_columns[] = {
	{"PID", 7, SURVEY_BY_PID, 1, column_pid, NULL, false},
	{"COMMAND", 15, SURVEY_BY_NAME, 0, column_command, NULL, true},
	{"MEMORY", 6, SURVEY_BY_MEMORY, 0, column_memory, NULL, false},
	{"RSS", 6, SURVEY_BY_RSS, 4, column_rss, NULL, false},
	{"GROWTH/h", 8, SURVEY_BY_GROWTH, 2, column_process_growth, NULL, false},
	{"TREND", 9, SURVEY_BY_SUSPICION, 3, column_trend, NULL, true},
	{"", SURVEY_SPARK, SURVEY_BY_SUSPICION, 6, column_spark, NULL, true},
	{"SINCE", 7, SURVEY_BY_SUSPICION, 9, column_since, NULL, false},
	{"FULL", 8, SURVEY_BY_LIMIT, 8, column_full, NULL, false},
	{"LIMIT", 7, SURVEY_BY_LIMIT, 5, column_limit, NULL, false},
	{"PROBES", 6, SURVEY_BY_SUSPICION, 7, column_probes, NULL, true},
};

/* ---- which are shown ---------------------------------------------------------------------- */

const struct screen_column *screen_columns(const struct live_screen *screen, size_t *count)
{
	*count = screen->survey ? ARRAY_SIZE(process_columns) : ARRAY_SIZE(stack_columns);
	return screen->survey ? process_columns : stack_columns;
}

/* Room behind the columns: for a stack's site, or a process's place. */
static unsigned columns_least(const struct live_screen *screen)
{
	unsigned least = screen->survey ? 0 : SITE_MIN;

	return screen->cols / 2 < least ? screen->cols / 2 : least;
}

unsigned screen_columns_shown(const struct live_screen *screen, const struct live_view *view,
			      unsigned *behind)
{
	unsigned least = columns_least(screen), shown = 0;
	size_t count;
	const struct screen_column *columns = screen_columns(screen, &count);

	*behind = 0;
	for (unsigned need = 0; need < count; need++) {
		for (size_t i = 0; i < count; i++) {
			const struct screen_column *c = &columns[i];

			if (c->need != need || (c->there && !c->there(view)))
				continue;
			if (*behind + c->width + 1 + least > screen->cols + !least)
				return shown;
			shown |= 1u << i;
			*behind += c->width + 1;
		}
	}
	return shown;
}

bool screen_column_at(const struct live_screen *screen, const struct live_view *view, unsigned col,
		      unsigned *by)
{
	unsigned behind, shown = screen_columns_shown(screen, view, &behind), end = 0;
	size_t count;
	const struct screen_column *columns = screen_columns(screen, &count);

	for (size_t i = 0; i < count; i++) {
		if (!(shown & 1u << i))
			continue;
		end += columns[i].width + 1;
		if (col < end) {
			*by = columns[i].by;
			return true;
		}
	}
	return false;
}
