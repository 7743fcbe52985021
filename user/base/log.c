// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum log_level max_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

void log_vmsg(enum log_level level, const char *fmt, va_list args)
{
	char line[2048];
	int n;

	if (level > max_level)
		return;
	n = vsnprintf(line, sizeof(line), fmt, args);
	if (n < 0)
		return;
	/* One write per line, so that lines of several processes do not mix; escape sequences in
	 * names read from a target must not reach the terminal. */
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	fprintf(stderr, "memleakbpf: %s%s\n", level == LOG_WARN ? "warning: " : "", line);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_vmsg(level, fmt, args);
	va_end(args);
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
