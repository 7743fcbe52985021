// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/libbpf_messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "user/base/log.h"

static int libbpf_messages_print(enum libbpf_print_level level, const char *format, va_list args)
{
	/* The message would end in two newlines otherwise. */
	char line[1024];
	enum log_level ours = level == LIBBPF_WARN ? LOG_DEBUG : LOG_TRACE;

	if (ours > log_get_level())
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_msg(ours, "%s", line);
	return 0;
}

void libbpf_messages_to_log(void)
{
	libbpf_set_print(libbpf_messages_print);
}
