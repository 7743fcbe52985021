// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/freeze/stop.h"
#include "user/trace/ring_reader.h"

/*
 * How long the threads of a process may take to stop that is held at its end: somewhat less than it
 * waits (bpf/leave.bpf.c).
 */
#define HOLD_NS 5000000000ull

/* On a machine that starts programs all the time; then stacks are looked up in what is known. */
#define DRAIN_ROUNDS 16

struct event_queue {
	struct ring_reader *events, *copies;
	struct mapwatch *mapwatch;
	bool (*followed)(void *ctx, pid_t pid);
	void *ctx;

	struct queued_event *queued;
	size_t count, room;
	uint64_t sequence;
	bool failed;	    /* out of memory while queueing */
	bool ring_refilled; /* events came while records of mappings were read */
};

void queued_event_release(struct queued_event *event)
{
	switch (event->kind) {
	case QUEUED_PROCESS:
		stop_free(event->process.hold);
		free(event->process.event);
		break;
	case QUEUED_STACK:
		free(event->stack);
		break;
	case QUEUED_STACK_COPY:
		free(event->copy);
		break;
	case QUEUED_MAP:
		free(event->map);
		break;
	case QUEUED_RUNTIME:
		free(event->runtime);
		break;
	}
}

/* Takes what the event owns. Without memory the queue has failed. */
static void event_queue_add(struct event_queue *queue, struct queued_event event)
{
	if (queue->count == queue->room) {
		size_t room = queue->room ? 2 * queue->room : 256;
		struct queued_event *grown = reallocarray(queue->queued, room, sizeof(*grown));

		if (!grown) {
			queue->failed = true;
			queued_event_release(&event);
			return;
		}
		queue->queued = grown;
		queue->room = room;
	}
	event.sequence = queue->sequence++;
	queue->queued[queue->count++] = event;
}

/*
 * Holds the process at once, whatever waits in the queue before it. The process does nothing else
 * until then, and other processes may end at the same time.
 */
static struct stop *event_queue_hold(const struct process_event *event)
{
	char why[REASON_MAX];
	struct stop *stop;

	if (!stop_begin_ending((pid_t)event->pid, HOLD_NS, &stop, why))
		return stop;
	log_debug("process %u is not held at its end: %s", event->pid, why);
	return NULL;
}

static size_t event_queue_kept(const void *data, size_t size)
{
	(void)data;
	return size < sizeof(struct event_header) ? 0 : size;
}

static void event_queue_on_event(void *ctx, void *record, size_t size)
{
	const struct event_header *header = record;
	struct queued_event event = {.time_ns = header->time_ns};
	struct event_queue *queue = ctx;

	(void)size;
	if (header->type == EVENT_STACK) {
		event.kind = QUEUED_STACK;
		event.stack = record;
	} else if (event_is_of_runtime(header->type) || header->type == EVENT_GUARD_TOUCH) {
		event.kind = QUEUED_RUNTIME;
		event.runtime = record;
	} else {
		event.kind = QUEUED_PROCESS;
		event.process.event = record;
		if (header->type == EVENT_LEAVE)
			event.process.hold = event_queue_hold(record);
		/* Its loader waits until what it has mapped is known. */
		if (header->type == EVENT_LOADED)
			mapwatch_note(queue->mapwatch);
	}
	event_queue_add(queue, event);
}

/* What has come of processes and stacks. How many, or -errno, and the queue has failed. */
static int event_queue_read(struct event_queue *queue)
{
	int taken = ring_reader_take(queue->events, event_queue_on_event, queue);

	if (taken < 0)
		queue->failed = true;
	return taken;
}

/* The kernel reserves room for as much of a stack as can be, and seldom copies as much. */
static size_t event_queue_kept_of_copy(const void *data, size_t size)
{
	const struct stack_copy_event *copy = data;

	if (size < sizeof(*copy) || copy->size > sizeof(copy->words))
		return 0;
	return offsetof(struct stack_copy_event, words) + copy->size;
}

static void event_queue_on_copy(void *ctx, void *record, size_t size)
{
	struct stack_copy_event *copy = record;

	(void)size;
	event_queue_add(ctx, (struct queued_event){.time_ns = copy->stack.header.time_ns,
						   .kind = QUEUED_STACK_COPY,
						   .copy = copy});
}

static bool event_queue_knows(const struct event_queue *queue, pid_t pid)
{
	if (queue->followed(queue->ctx, pid))
		return true;
	for (size_t i = 0; i < queue->count; i++) {
		const struct queued_event *event = &queue->queued[i];

		if (event->kind == QUEUED_PROCESS && event->process.event->pid == (uint32_t)pid)
			return true;
	}
	return false;
}

/*
 * A child's records may be here before its fork event has been taken in: the queue knows it
 * already. Or the fork came after we had emptied the ring buffer, and the event is there by now.
 */
static bool event_queue_wants_map(void *ctx, pid_t pid)
{
	struct event_queue *queue = ctx;

	if (event_queue_knows(queue, pid))
		return true;
	if (event_queue_read(queue) <= 0)
		return false;
	queue->ring_refilled = true;
	return event_queue_knows(queue, pid);
}

static void event_queue_on_map(void *ctx, const struct mapwatch_record *record)
{
	size_t path_size = record->exec ? 1 : strlen(record->mapping.path) + 1;
	struct mapwatch_record *copy = malloc(sizeof(*copy) + path_size);
	struct event_queue *queue = ctx;

	if (!copy) {
		queue->failed = true;
		return;
	}
	*copy = *record;
	copy->mapping.path = memcpy(copy + 1, record->exec ? "" : record->mapping.path, path_size);
	event_queue_add(
		queue,
		(struct queued_event){.time_ns = record->time_ns, .kind = QUEUED_MAP, .map = copy});
}

int event_queue_new(int events_fd, int copies_fd, bool (*followed)(void *ctx, pid_t pid), void *ctx,
		    struct event_queue **out)
{
	struct event_queue *queue = calloc(1, sizeof(*queue));
	const struct mapwatch_callbacks callbacks = {
		.ctx = queue, .wanted = event_queue_wants_map, .record = event_queue_on_map};
	int err;

	if (!queue)
		return -ENOMEM;
	queue->followed = followed;
	queue->ctx = ctx;
	err = ring_reader_new(events_fd, event_queue_kept, &queue->events);
	err = err ?: ring_reader_new(copies_fd, event_queue_kept_of_copy, &queue->copies);
	err = err ?: mapwatch_new(&callbacks, &queue->mapwatch);
	if (err) {
		event_queue_free(queue);
		return err;
	}
	*out = queue;
	return 0;
}

void event_queue_free(struct event_queue *queue)
{
	if (!queue)
		return;
	mapwatch_free(queue->mapwatch);
	ring_reader_free(queue->copies);
	ring_reader_free(queue->events);
	for (size_t i = 0; i < queue->count; i++)
		queued_event_release(&queue->queued[i]);
	free(queue->queued);
	free(queue);
}

void event_queue_fds(const struct event_queue *queue, int fds[static EVENT_QUEUE_FDS])
{
	fds[0] = ring_reader_fd(queue->events);
	fds[1] = ring_reader_fd(queue->copies);
	fds[2] = mapwatch_fd(queue->mapwatch);
}

uint64_t event_queue_maps_lost(const struct event_queue *queue)
{
	return mapwatch_lost(queue->mapwatch);
}

int event_queue_maps_refused(const struct event_queue *queue)
{
	return mapwatch_refused(queue->mapwatch);
}

int event_queue_fill(struct event_queue *queue)
{
	int err;

	event_queue_read(queue);
	if (ring_reader_take(queue->copies, event_queue_on_copy, queue) < 0)
		queue->failed = true;
	/* The Python functions that copied stacks are in were sent before them. */
	event_queue_read(queue);
	/*
	 * Again, if events came meanwhile: records of mappings that are older than these may be in
	 * rings that had been read.
	 */
	for (int round = 0; round < DRAIN_ROUNDS && (!round || queue->ring_refilled); round++) {
		queue->ring_refilled = false;
		err = mapwatch_drain(queue->mapwatch);
		if (err < 0)
			return err;
	}
	return queue->failed ? log_errno(ENOMEM, "cannot take in the kernel's events") : 0;
}

int event_queue_settle(struct event_queue *queue, pid_t pid, uint32_t target_id, uint64_t since_ns)
{
	bool exec = false, told = false;
	size_t kept = 0;
	int err;

	/* In this order: what a record is about, the ring tells later. */
	err = mapwatch_drain(queue->mapwatch);
	if (err < 0)
		return err;
	err = event_queue_read(queue);
	if (err < 0)
		return err;
	for (size_t i = 0; i < queue->count; i++) {
		struct queued_event *event = &queue->queued[i];

		if (event->kind == QUEUED_MAP && event->map->pid == pid) {
			if (event->time_ns < since_ns) {
				queued_event_release(event);
				continue;
			}
			exec |= event->map->exec;
		}
		told |= event->kind == QUEUED_PROCESS &&
			event->process.event->header.type == EVENT_EXEC &&
			event->process.event->other_id == target_id;
		queue->queued[kept++] = *event;
	}
	queue->count = kept;
	return exec && !told;
}

static int queued_by_time(const void *a, const void *b)
{
	const struct queued_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

struct queued_event *event_queue_take(struct event_queue *queue, size_t *count)
{
	struct queued_event *events = queue->queued;

	*count = queue->count;
	queue->queued = NULL;
	queue->count = queue->room = 0;
	if (*count)
		qsort(events, *count, sizeof(*events), queued_by_time);
	return events;
}
