// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/capture/sleepers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/sleepers_abi.h"
#include "sleepers.skel.h"
#include "user/base/util.h"
#include "user/freeze/cut_short.h"

/* The largest record is smaller, and so is all that the kernel gives at once. */
#define BUFFER_SIZE (64 << 10)

struct sleepers {
	struct sleepers_bpf *skel;
	struct stop_sleepers for_stop;
	pid_t pid; /* whose threads `link` walks over; 0: none yet */
	int link;
	unsigned char *buffer; /* BUFFER_SIZE */
};

static int sleepers_walk_over(struct sleepers *s, pid_t pid)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)pid};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));

	if (s->pid == pid)
		return 0;
	if (s->link >= 0)
		close(s->link);
	s->pid = 0;
	s->link = s->for_stop.fds[1] =
		bpf_link_create(bpf_program__fd(s->skel->progs.sleepers), 0, BPF_TRACE_ITER, &opts);
	if (s->link < 0)
		return -errno;
	s->pid = pid;
	return 0;
}

static size_t sleepers_record_size(const struct sleeper *sleeper)
{
	return sizeof(*sleeper) + ((sleeper->vector_size + 7) & ~7u);
}

/* Takes all whole records of the *used bytes, and keeps the rest. */
static int sleepers_take_records(struct sleepers *s, size_t *used,
				 int (*fn)(void *fn_ctx, const struct sleeper *sleeper),
				 void *fn_ctx)
{
	size_t at = 0;
	int err = 0;

	while (!err && *used - at >= sizeof(struct sleeper)) {
		const struct sleeper *sleeper = (const void *)(s->buffer + at);
		size_t size = sleepers_record_size(sleeper);

		if (*used - at < size)
			break;
		err = fn(fn_ctx, sleeper);
		at += size;
	}
	*used -= at;
	memmove(s->buffer, s->buffer + at, *used);
	return err;
}

static int sleepers_look(void *ctx, pid_t pid, bool registers,
			 int (*fn)(void *fn_ctx, const struct sleeper *sleeper), void *fn_ctx)
{
	struct sleepers *s = ctx;
	_cleanup_close_ int fd = -1;
	size_t used = 0;
	int err = sleepers_walk_over(s, pid);

	if (err)
		return err;
	s->skel->bss->registers_wanted = registers;
	fd = bpf_iter_create(s->link);
	if (fd < 0)
		return -errno;
	while (!err) {
		ssize_t n = read(fd, s->buffer + used, BUFFER_SIZE - used);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : used ? -EIO : 0;
		used += (size_t)n;
		err = sleepers_take_records(s, &used, fn, fn_ctx);
	}
	return err;
}

int sleepers_new(struct sleepers **out)
{
	struct sleepers *s = calloc(1, sizeof(*s));
	const uint16_t *calls;
	size_t count;
	int err = -ENOMEM;

	if (!s)
		return err;
	s->link = -1;
	s->for_stop = (struct stop_sleepers){.ctx = s, .fds = {-1, -1}, .look = sleepers_look};
	s->buffer = malloc(BUFFER_SIZE);
	s->skel = sleepers_bpf__open();
	if (!s->buffer || !s->skel)
		goto fail;
	calls = cut_short_calls(&count);
	for (size_t i = 0; i < count; i++) {
		if (calls[i] < SLEEPER_CALLS)
			s->skel->rodata->calls[calls[i] / 64] |= 1ull << calls[i] % 64;
	}
	err = sleepers_bpf__load(s->skel);
	if (err)
		goto fail;
	s->for_stop.fds[0] = bpf_program__fd(s->skel->progs.sleepers);
	/* Before 6.1 there is an iterator over threads, but not over those of one process. */
	err = sleepers_walk_over(s, getpid());
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	sleepers_free(s);
	return err;
}

void sleepers_free(struct sleepers *sleepers)
{
	if (!sleepers)
		return;
	if (sleepers->link >= 0)
		close(sleepers->link);
	sleepers_bpf__destroy(sleepers->skel);
	free(sleepers->buffer);
	free(sleepers);
}

const struct stop_sleepers *sleepers_for_stop(const struct sleepers *sleepers)
{
	return sleepers ? &sleepers->for_stop : NULL;
}
