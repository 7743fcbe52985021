// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/process_end.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"

const char *process_end_name(uint64_t cause)
{
	static const char *const names[] = {
		[END_UNKNOWN] = NULL,
		[END_EXIT] = "exit",
		[END_SIGNAL] = "signal",
		[END_CORE] = "core",
		[END_MEMORY_LIMIT] = "memory_limit",
		[END_MACHINE_MEMORY] = "machine_out_of_memory",
		[END_SOME_MEMORY] = "out_of_memory",
	};

	_Static_assert(ARRAY_SIZE(names) == END_CAUSES, "a name for every cause");
	return cause < END_CAUSES ? names[cause] : NULL;
}

static void process_end_add(char buf[static PROCESS_END_TEXT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void process_end_add(char buf[static PROCESS_END_TEXT_MAX], const char *format, ...)
{
	size_t len = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + len, PROCESS_END_TEXT_MAX - len, format, args);
	va_end(args);
}

static void process_end_signal(char buf[static PROCESS_END_TEXT_MAX], const struct process_end *end)
{
	const char *name = end->code < 32 ? sigabbrev_np((int)end->code) : NULL;

	if (name)
		snprintf(buf, PROCESS_END_TEXT_MAX, "was killed by SIG%s", name);
	else
		snprintf(buf, PROCESS_END_TEXT_MAX, "was killed by signal %" PRIu64, end->code);
	if (end->sent == END_SENT_ITSELF)
		process_end_add(buf, " that it sent itself");
	else if (end->sender)
		process_end_add(buf,
				end->sent == END_SENT_AGAIN
					? " that it sent itself after process %" PRIu64 " (%s) had"
					: " that process %" PRIu64 " (%s) sent",
				end->sender, *end->sender_comm ? end->sender_comm : "?");
	if (end->cause == END_CORE)
		process_end_add(buf, ", and dumped core");
}

/* "the limit of 48.0 MiB of /web was reached" */
static void process_end_limit(char buf[static PROCESS_END_TEXT_MAX], const struct process_end *end)
{
	char bytes[FORMAT_BYTES_MAX];

	process_end_add(buf, "the limit");
	if (end->limit)
		process_end_add(buf, " of %s", format_bytes(bytes, end->limit));
	process_end_add(buf, " of %s was reached",
			*end->cgroup ? end->cgroup : "its control group");
}

char *process_end_text(const struct process_end *end, char buf[static PROCESS_END_TEXT_MAX])
{
	snprintf(buf, PROCESS_END_TEXT_MAX, "exited");
	switch (end->cause) {
	case END_EXIT:
		if (end->code)
			snprintf(buf, PROCESS_END_TEXT_MAX, "exited with status %" PRIu64,
				 end->code);
		break;
	case END_SIGNAL:
	case END_CORE:
		process_end_signal(buf, end);
		break;
	case END_MEMORY_LIMIT:
		snprintf(buf, PROCESS_END_TEXT_MAX, "was killed by the OOM killer: ");
		process_end_limit(buf, end);
		break;
	case END_MACHINE_MEMORY:
		snprintf(buf, PROCESS_END_TEXT_MAX,
			 "was killed by the OOM killer: the machine had no memory left");
		break;
	case END_SOME_MEMORY:
		snprintf(buf, PROCESS_END_TEXT_MAX, "was killed by the OOM killer");
		if (*end->cgroup) {
			process_end_add(buf, "; ");
			process_end_limit(buf, end);
		}
		process_end_add(buf, "; whose memory was used up is not known");
		break;
	}
	return buf;
}
