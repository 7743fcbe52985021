// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Standard error is a pipe that nobody reads: the screen goes on, and what is missing there is counted. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/live/messages.h"

/* No byte more goes into it. */
static void fill(int fd)
{
	static const char bytes[4096];

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

static void drain(int fd)
{
	char bytes[4096];

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void test_nobody_reads(void **state)
{
	int before = dup(STDERR_FILENO), ends[2];
	struct messages *messages;
	char line[256] = "", end[256] = "";

	(void)state;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(messages_open(&messages), 0);
	fill(ends[1]);
	alarm(60); /* waiting for a reader it would never come back */
	dprintf(STDERR_FILENO, "memleakbpf: one\n");
	assert_true(messages_next(messages, line, sizeof(line)));
	drain(ends[0]);
	dprintf(STDERR_FILENO, "memleakbpf: two\n");
	messages_close(messages);
	alarm(0);
	dup2(before, STDERR_FILENO);
	assert_string_equal(line, "one");
	assert_true(read(ends[0], end, sizeof(end) - 1) > 0);
	assert_string_equal(end, "memleakbpf: two\n"
				 "memleakbpf: messages missing here, as nobody read them: 1\n");
	close(ends[0]);
	close(ends[1]);
	close(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
