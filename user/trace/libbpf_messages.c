// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/libbpf_messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "user/base/log.h"
#include "user/base/util.h"

/* libbpf hands its messages to a function without a context: what failed last, in this thread. */
static _Thread_local struct libbpf_refusal last;

void libbpf_refusal_forget(void)
{
	last = (struct libbpf_refusal){0};
}

const struct libbpf_refusal *libbpf_refusal_last(void)
{
	return &last;
}

/* The verifier's last words before its statistics say what it did not like. */
static void libbpf_note_log(const char *log)
{
	const char *end = strstr(log, "\nprocessed "), *start = end;

	if (!end)
		return;
	while (start > log && start[-1] != '\n')
		start--;
	snprintf(last.complaint, sizeof(last.complaint), "%.*s", (int)(end - start), start);
}

/* Of the warnings that libbpf gives on its way out of a load that failed. */
static void libbpf_note_warning(const char *text)
{
	char name[sizeof(last.program)];
	const char *log;
	int error;

	if (sscanf(text, "libbpf: prog '%63[^']': failed to load: %d", name, &error) == 2) {
		memcpy(last.program, name, sizeof(name));
		last.error = error;
		return;
	}
	if (sscanf(text, "libbpf: map '%63[^']': failed to create", name) == 1 &&
	    strstr(text, "': failed to create: ")) {
		const char *number = strrchr(text, '(');

		memcpy(last.map, name, sizeof(name));
		last.error = number ? atoi(number + 1) : 0;
		return;
	}
	log = strstr(text, "-- BEGIN PROG LOAD LOG --");
	if (log)
		libbpf_note_log(log);
}

/* Line by line. The verifier's log is one message, and is long. */
static void libbpf_messages_put(enum log_level level, char *text)
{
	char *rest = NULL;

	if (strstr(text, "-- BEGIN PROG LOAD LOG --"))
		level = LOG_TRACE;
	if (level > log_get_level())
		return;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_msg(level, "%s", line);
}

static int libbpf_messages_print(enum libbpf_print_level level, const char *format, va_list args)
{
	enum log_level ours = level == LIBBPF_WARN ? LOG_DEBUG : LOG_TRACE;
	bool shown = ours <= log_get_level();
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN && !shown)
		return 0;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	if (level == LIBBPF_WARN)
		libbpf_note_warning(text);
	if (shown)
		libbpf_messages_put(ours, text);
	return 0;
}

void libbpf_messages_to_log(void)
{
	libbpf_set_print(libbpf_messages_print);
}
