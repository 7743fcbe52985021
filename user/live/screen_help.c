// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text for ?. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"
#include "user/export/text_fit.h"
#include "user/live/screen_internal.h"

struct help_row {
	const char *what, *text; /* NULL: the end */
};

static const struct help_row survey_rows[] = {
	{"up down PgUp PgDn Home End", "move; a click and the wheel too"},
	{"Enter, a second click", "what it allocates: sampled probes are on it while the page "
				  "is open, as the budget allows"},
	{"Esc", "back; in the list: the filter off"},
	{"o, < >, a click on a head", "another order: a menu; the one before, the next"},
	{"/", "only processes with that in name, unit, container or PID"},
	{"p", "pause: the picture stays until another part of it is asked for"},
	{"q, Ctrl-C", "leave; nothing is left attached"},
	{"MEMORY", "anonymous, resident and swapped out: what leaks"},
	{"GROWTH/h, TREND", "over the watch; leaking: for long enough to call it that"},
	{"SINCE", "for how long it has grown"},
	{"FULL", "when the memory is used up, at this growth"},
	{"LIMIT", "until the control group's or the machine's memory is used up, at this growth"},
	{"PROBES", "now: they are on it; seen: Enter has what they found"},
	{NULL, NULL},
};

static const struct help_row stack_rows[] = {
	{"up down PgUp PgDn Home End", "move; a click and the wheel too"},
	{"Enter, a second click", "its stacks whole: frames, ages, lifetimes, verdict"},
	{"Esc", "back; in the list: the filter off, then d off"},
	{"o, < >, a click on a head", "another order: a menu; the one before, the next"},
	{"/", "only stacks with that in a function, file or module; Enter with nothing shows all"},
	{"p", "pause: nothing new is shown, all is counted"},
	{"m", "mark: what is live now"},
	{"d", "what has changed since the mark, and back"},
	{"v",
	 "a verdict now: what nothing points to any more; the process stands still for a moment"},
	{"i", "inspect: what the whole heap is made of"},
	{"s", "save for memleakbpf report and diff: s a snapshot, r a recording from now on, and "
	      "again its end"},
	{"g", "what tracing costs now, and by what it is done; g once more: the gate in place of "
	      "traps, or traps in place of the gate (counting begins anew)"},
	{"q, Ctrl-C", "leave; nothing is left attached"},
	{"LIVE, BLOCKS", "allocated and not freed yet; bytes as they were asked for"},
	{"GROWTH/h", "by the trend of LIVE over the watch; - is not known yet"},
	{"OLDEST", "age of the oldest block"},
	{"ALLOC/s", "bytes allocated in the last interval, freed or not"},
	{"LOST", "at the last verdict: nothing points to them"},
	{"CHANGE", "of LIVE since the mark"},
	{"FUNCTION", "the first that is neither an allocator's nor the C or C++ library's"},
	{"not recorded", "what tracing had to miss; 0: nothing"},
	{"untraced growth", "memory that came and that no traced function gave out"},
	{NULL, NULL},
};

#define HELP_COLUMN 28
#define HELP_WIDE   72 /* from so many columns on both stand in one line */

/* Puts the text beside its subject; its further lines go below. */
static int help_put_wide(FILE *out, const struct help_row *row, unsigned cols)
{
	_cleanup_free_ char *text = NULL;
	const char *what = row->what;
	size_t size = 0;
	FILE *wrapped = open_memstream(&text, &size);
	int err;

	if (!wrapped)
		return -ENOMEM;
	text_wrap(wrapped, row->text, cols - HELP_COLUMN - 1);
	err = close_memstream(wrapped);
	for (const char *line = text; !err && *line; what = "") {
		size_t len;

		/* text_wrap() indents further lines. */
		line += strspn(line, " ");
		len = strcspn(line, "\n");
		fprintf(out, "%-*s %.*s\n", HELP_COLUMN, what, (int)len, line);
		line += len + (line[len] == '\n');
	}
	return err;
}

int screen_help(const struct live_screen *screen, struct live_text *text)
{
	_cleanup_free_ char *all = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&all, &size);
	int err = 0;

	*text = (struct live_text){0};
	if (!out)
		return -ENOMEM;
	for (const struct help_row *row = screen->survey ? survey_rows : stack_rows;
	     !err && row->what; row++) {
		if (screen->cols >= HELP_WIDE)
			err = help_put_wide(out, row, screen->cols);
		else
			fprintf(out, "%s\n    %s\n", row->what, row->text);
	}
	err = close_memstream(out) ?: err;
	return err ?: live_text_set(text, all, screen->cols);
}
