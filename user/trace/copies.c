// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/copies.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <utlist.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"

/* Beyond that much they stay in the ring buffer until the main thread has taken some. */
#define MAX_WAITING_BYTES (64u << 20)

struct waiting_copy {
	struct stack_copy_event *copy;
	struct waiting_copy *next, *prev;
};

struct copies {
	struct ring_buffer *ring; /* all from here on: under `lock` */
	struct waiting_copy *list;
	size_t bytes;
	bool failed; /* out of memory */
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	int ready_fd; /* the main thread is to take what is there */
	int wake_fd;  /* there is room again, or `stop` */
	bool stop;
};

static int copies_on_copy(void *ctx, void *data, size_t size)
{
	const struct stack_copy_event *event = data;
	struct copies *copies = ctx;
	size_t used = offsetof(struct stack_copy_event, words);
	struct waiting_copy *waiting;

	if (size < sizeof(*event) || event->size > sizeof(event->words))
		return 0;
	used += event->size;
	waiting = malloc(sizeof(*waiting));
	if (waiting)
		waiting->copy = malloc(used);
	if (!waiting || !waiting->copy) {
		free(waiting);
		copies->failed = true;
		return 0;
	}
	memcpy(waiting->copy, event, used);
	DL_APPEND(copies->list, waiting);
	copies->bytes += used;
	return copies->bytes < MAX_WAITING_BYTES ? 0 : -ENOBUFS;
}

static void *copies_read(void *arg)
{
	struct copies *copies = arg;
	struct pollfd fds[2] = {{.fd = copies->wake_fd, .events = POLLIN}, {.events = POLLIN}};
	bool stop = false;

	/*
	 * What it does is short, and has to be done soon. Without the right to that it is a thread
	 * like others.
	 */
	setpriority(PRIO_PROCESS, 0, -20);
	/* What comes was written by targets, and the ring is mapped already. */
	privilege_drop_thread();
	pthread_mutex_lock(&copies->lock);
	while (!stop) {
		eventfd_t count;

		/* A negative descriptor is not looked at. */
		fds[1].fd = copies->bytes < MAX_WAITING_BYTES ? ring_buffer__epoll_fd(copies->ring)
							      : -1;
		pthread_mutex_unlock(&copies->lock);
		poll(fds, ARRAY_SIZE(fds), -1);
		pthread_mutex_lock(&copies->lock);
		if (fds[0].revents)
			eventfd_read(copies->wake_fd, &count);
		if (fds[1].fd >= 0 && fds[1].revents)
			ring_buffer__consume(copies->ring);
		if (copies->list)
			eventfd_write(copies->ready_fd, 1);
		stop = copies->stop;
	}
	pthread_mutex_unlock(&copies->lock);
	return NULL;
}

/* Signals are the main thread's. */
static int copies_start_thread(struct copies *copies)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&copies->thread, NULL, copies_read, copies);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	copies->running = !err;
	return -err;
}

int copies_new(int map_fd, struct copies **out)
{
	struct copies *copies = calloc(1, sizeof(*copies));
	int err = 0;

	if (!copies)
		return log_errno(ENOMEM, "cannot open the ring buffer of stacks");
	pthread_mutex_init(&copies->lock, NULL);
	copies->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	copies->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (copies->ready_fd >= 0 && copies->wake_fd >= 0)
		copies->ring = ring_buffer__new(map_fd, copies_on_copy, copies, NULL);
	if (!copies->ring)
		err = -errno;
	err = err ?: copies_start_thread(copies);
	if (err) {
		copies_free(copies);
		return log_errno(err, "cannot open the ring buffer of stacks");
	}
	*out = copies;
	return 0;
}

static void copies_drop_waiting(struct copies *copies)
{
	while (copies->list) {
		struct waiting_copy *next = copies->list->next;

		free(copies->list->copy);
		free(copies->list);
		copies->list = next;
	}
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	if (copies->running) {
		pthread_mutex_lock(&copies->lock);
		copies->stop = true;
		pthread_mutex_unlock(&copies->lock);
		eventfd_write(copies->wake_fd, 1);
		pthread_join(copies->thread, NULL);
	}
	copies_drop_waiting(copies);
	ring_buffer__free(copies->ring);
	if (copies->ready_fd >= 0)
		close(copies->ready_fd);
	if (copies->wake_fd >= 0)
		close(copies->wake_fd);
	pthread_mutex_destroy(&copies->lock);
	free(copies);
}

int copies_fd(const struct copies *copies)
{
	return copies->ready_fd;
}

int copies_take(struct copies *copies, void (*fn)(void *ctx, struct stack_copy_event *copy),
		void *ctx)
{
	struct waiting_copy *list;
	eventfd_t count;
	int err;

	pthread_mutex_lock(&copies->lock);
	eventfd_read(copies->ready_fd, &count);
	/*
	 * What the thread has not got to yet, too: the caller counts on having all that is older
	 * than now.
	 */
	ring_buffer__consume(copies->ring);
	list = copies->list;
	copies->list = NULL;
	copies->bytes = 0;
	err = copies->failed ? -ENOMEM : 0;
	copies->failed = false;
	pthread_mutex_unlock(&copies->lock);
	if (list)
		eventfd_write(copies->wake_fd, 1);
	while (list) {
		struct waiting_copy *next = list->next;

		fn(ctx, list->copy);
		free(list);
		list = next;
	}
	return err;
}
