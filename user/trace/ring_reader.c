// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/ring_reader.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <utlist.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"

/* Beyond that much they stay in the ring buffer until the main thread has taken some. */
#define MAX_WAITING_BYTES (64u << 20)

struct ring_record {
	void *data;
	size_t size;
	struct ring_record *next, *prev;
};

struct ring_reader {
	ring_record_fn *kept;
	struct ring_buffer *ring; /* all from here on: under `lock` */
	struct ring_record *list;
	size_t bytes;
	bool failed; /* out of memory */
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	int ready_fd; /* the main thread is to take what is there */
	int wake_fd;  /* there is room again, or `stop` */
	bool stop;
};

static int ring_reader_on_record(void *ctx, void *data, size_t size)
{
	struct ring_reader *reader = ctx;
	size_t kept = reader->kept(data, size);
	struct ring_record *record;

	if (!kept)
		return 0;
	record = malloc(sizeof(*record));
	if (record)
		record->data = malloc(kept);
	if (!record || !record->data) {
		free(record);
		reader->failed = true;
		return 0;
	}
	record->size = kept;
	memcpy(record->data, data, kept);
	DL_APPEND(reader->list, record);
	reader->bytes += kept;
	return reader->bytes < MAX_WAITING_BYTES ? 0 : -ENOBUFS;
}

static void *ring_reader_read(void *arg)
{
	struct ring_reader *reader = arg;
	struct pollfd fds[2] = {{.fd = reader->wake_fd, .events = POLLIN}, {.events = POLLIN}};
	bool stop = false;

	/*
	 * What it does is short, and has to be done soon. Without the right to that it is a thread
	 * like others.
	 */
	setpriority(PRIO_PROCESS, 0, -20);
	/* What comes was written by targets, and the ring is mapped already. */
	privilege_drop_thread();
	pthread_mutex_lock(&reader->lock);
	while (!stop) {
		eventfd_t count;

		/* A negative descriptor is not looked at. */
		fds[1].fd = reader->bytes < MAX_WAITING_BYTES ? ring_buffer__epoll_fd(reader->ring)
							      : -1;
		pthread_mutex_unlock(&reader->lock);
		poll(fds, ARRAY_SIZE(fds), -1);
		pthread_mutex_lock(&reader->lock);
		if (fds[0].revents)
			eventfd_read(reader->wake_fd, &count);
		if (fds[1].fd >= 0 && fds[1].revents)
			ring_buffer__consume(reader->ring);
		if (reader->list)
			eventfd_write(reader->ready_fd, 1);
		stop = reader->stop;
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* Signals are the main thread's. */
static int ring_reader_start(struct ring_reader *reader)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&reader->thread, NULL, ring_reader_read, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	reader->running = !err;
	return -err;
}

int ring_reader_new(int map_fd, ring_record_fn *kept, struct ring_reader **out)
{
	struct ring_reader *reader = calloc(1, sizeof(*reader));
	int err = 0;

	if (!reader)
		return log_errno(ENOMEM, "cannot open a BPF ring buffer");
	reader->kept = kept;
	pthread_mutex_init(&reader->lock, NULL);
	reader->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reader->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->ready_fd >= 0 && reader->wake_fd >= 0)
		reader->ring = ring_buffer__new(map_fd, ring_reader_on_record, reader, NULL);
	if (!reader->ring)
		err = -errno;
	err = err ?: ring_reader_start(reader);
	if (err) {
		ring_reader_free(reader);
		return log_errno(err, "cannot open a BPF ring buffer");
	}
	*out = reader;
	return 0;
}

static void ring_reader_drop(struct ring_reader *reader)
{
	while (reader->list) {
		struct ring_record *next = reader->list->next;

		free(reader->list->data);
		free(reader->list);
		reader->list = next;
	}
}

void ring_reader_free(struct ring_reader *reader)
{
	if (!reader)
		return;
	if (reader->running) {
		pthread_mutex_lock(&reader->lock);
		reader->stop = true;
		pthread_mutex_unlock(&reader->lock);
		eventfd_write(reader->wake_fd, 1);
		pthread_join(reader->thread, NULL);
	}
	ring_reader_drop(reader);
	ring_buffer__free(reader->ring);
	if (reader->ready_fd >= 0)
		close(reader->ready_fd);
	if (reader->wake_fd >= 0)
		close(reader->wake_fd);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

int ring_reader_fd(const struct ring_reader *reader)
{
	return reader->ready_fd;
}

int ring_reader_take(struct ring_reader *reader, void (*fn)(void *ctx, void *record, size_t size),
		     void *ctx)
{
	struct ring_record *list;
	eventfd_t count;
	int taken = 0;
	bool failed;

	pthread_mutex_lock(&reader->lock);
	eventfd_read(reader->ready_fd, &count);
	/*
	 * What the thread has not got to yet, too, however much waits: the caller counts on having all
	 * that is older than now.
	 */
	reader->bytes = 0;
	ring_buffer__consume(reader->ring);
	list = reader->list;
	reader->list = NULL;
	reader->bytes = 0;
	failed = reader->failed;
	reader->failed = false;
	pthread_mutex_unlock(&reader->lock);
	if (list)
		eventfd_write(reader->wake_fd, 1);
	while (list) {
		struct ring_record *next = list->next;

		fn(ctx, list->data, list->size);
		free(list);
		list = next;
		taken++;
	}
	return failed ? -ENOMEM : taken;
}
