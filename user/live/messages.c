// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"

#define KEPT_MAX 8 /* lines for the end */

struct messages {
	int from;	/* the pipe to read; nonblocking */
	int before;	/* standard error as it was */
	size_t dropped; /* lines that standard error's reader did not take */
	bool on_tty;	/* it was a terminal: the one that the screen is on, likely */
	char pending[4096];
	size_t len;
	char *kept[KEPT_MAX]; /* the last ones, owned; the oldest at kept_at */
	size_t kept_at;
};

int messages_open(struct messages **out)
{
	struct messages *m = calloc(1, sizeof(*m));
	int ends[2];

	if (!m)
		return log_errno(ENOMEM, "no memory for messages");
	/* Writers must never wait for us; lines that do not fit are lost. */
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		free(m);
		return log_errno(errno, "pipe");
	}
	m->on_tty = isatty(STDERR_FILENO);
	m->before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	fflush(stderr);
	if (m->before < 0 || dup2(ends[1], STDERR_FILENO) < 0) {
		int err = errno;

		close(ends[0]);
		close(ends[1]);
		if (m->before >= 0)
			close(m->before);
		free(m);
		return log_errno(err, "cannot keep messages off the screen");
	}
	close(ends[1]);
	m->from = ends[0];
	*out = m;
	return 0;
}

int messages_fd(const struct messages *m)
{
	return m->from;
}

static void messages_keep(struct messages *m, const char *line)
{
	free(m->kept[m->kept_at]);
	m->kept[m->kept_at] = strdup(line);
	m->kept_at = (m->kept_at + 1) % KEPT_MAX;
}

/*
 * False: the reader does not read, and the screen does not wait for it. Where there is any room, up
 * to PIPE_BUF fits.
 */
static bool messages_write(const struct messages *m, const char *line)
{
	struct pollfd fd = {.fd = m->before, .events = POLLOUT};
	struct iovec parts[] = {{(char *)line, strlen(line)}, {(char *)"\n", 1}};

	if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
		return false;
	return writev(m->before, parts, ARRAY_SIZE(parts)) > 0;
}

/* Passes a whole line on. */
static void messages_pass(struct messages *m, const char *line)
{
	if (m->on_tty)
		messages_keep(m, line);
	else if (!messages_write(m, line))
		m->dropped++;
}

static bool messages_take(struct messages *m, char *line, size_t size)
{
	static const char name[] = "memleakbpf: ";
	char *end = memchr(m->pending, '\n', m->len);
	size_t used;
	const char *text = m->pending;

	if (!end && m->len < sizeof(m->pending) - 1)
		return false;
	used = end ? (size_t)(end - m->pending) + 1 : m->len;
	m->pending[end ? used - 1 : used] = '\0';
	messages_pass(m, text);
	if (!strncmp(text, name, sizeof(name) - 1))
		text += sizeof(name) - 1;
	snprintf(line, size, "%s", text);
	m->len -= used;
	memmove(m->pending, m->pending + used, m->len);
	return true;
}

bool messages_next(struct messages *m, char *line, size_t size)
{
	ssize_t n;

	if (messages_take(m, line, size))
		return true;
	n = read(m->from, m->pending + m->len, sizeof(m->pending) - 1 - m->len);
	if (n <= 0)
		return false;
	m->len += (size_t)n;
	return messages_take(m, line, size);
}

void messages_close(struct messages *m)
{
	char line[256];

	if (!m)
		return;
	fflush(stderr);
	while (messages_next(m, line, sizeof(line)))
		;
	dup2(m->before, STDERR_FILENO);
	for (size_t i = 0; i < KEPT_MAX; i++) {
		char *kept = m->kept[(m->kept_at + i) % KEPT_MAX];

		if (kept)
			fprintf(stderr, "%s\n", kept);
		free(kept);
	}
	snprintf(line, sizeof(line), "memleakbpf: messages missing here, as nobody read them: %zu",
		 m->dropped);
	if (m->dropped)
		messages_write(m, line);
	close(m->before);
	close(m->from);
	free(m);
}
