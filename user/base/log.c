// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/text.h"

static enum log_level max_level = LOG_INFO;
static bool progress_shown;

/* To the line's beginning, and erase it: ECMA-48. */
#define ERASE_LINE "\r\033[K"

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

/* Cleans a line: names read from a target are in it, with whatever they hold for a terminal. */
static void log_clean(char *line)
{
	text_copy(line, SIZE_MAX, line, SIZE_MAX, &text_for_terminal);
}

void log_progress(const char *fmt, ...)
{
	const char *term = getenv("TERM"); /* a dumb one erases nothing */
	char line[256];
	va_list args;
	int n;

	log_progress_end();
	if (max_level < LOG_INFO || !isatty(STDERR_FILENO) || (term && !strcmp(term, "dumb")))
		return;
	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n < 0)
		return;
	log_clean(line);
	fprintf(stderr, "memleakbpf: %s", line);
	fflush(stderr);
	progress_shown = true;
}

void log_progress_end(void)
{
	if (!progress_shown)
		return;
	progress_shown = false;
	fputs(ERASE_LINE, stderr);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char line[2048];
	va_list args;
	int n;

	if (level > max_level)
		return;
	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n < 0)
		return;
	log_clean(line);
	log_progress_end();
	/* One write per line, so that lines of several processes do not mix. */
	fprintf(stderr, "memleakbpf: %s%s\n", level == LOG_WARN ? "warning: " : "", line);
}

int log_errno(int err, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (err < 0)
		err = -err;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_msg(LOG_ERROR, "%s: %s", text, strerror(err));
	return -err;
}
