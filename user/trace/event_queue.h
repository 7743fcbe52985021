/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that the kernel tells, merged by time:
 *
 * - process events and new stacks, from the ring buffer
 * - stacks to be finished, from a ring buffer of their own
 * - new mappings, from the perf side-band
 *
 * Every record that a process caused before a stack is in one of the buffers when the stack is. So
 * a stack can be looked up in the mappings of its moment. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_EVENT_QUEUE_H
#define MEMLEAKBPF_TRACE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "user/target/mapwatch.h"

struct event_queue;
struct stop;

enum queued_kind {
	QUEUED_PROCESS,
	QUEUED_STACK,
	QUEUED_STACK_COPY,
	QUEUED_MAP,
	QUEUED_RUNTIME,
};

/* A record of the kernel that waits for its turn in time order. Owns what it points to. */
struct queued_event {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t sequence; /* keeps the order of equal times */
	enum queued_kind kind;
	union {
		struct {
			struct process_event *event;
			/* of an EVENT_LEAVE: it is being held; NULL: it was too late */
			struct stop *hold;
		} process;
		struct stack_event *stack;
		struct stack_copy_event *copy;
		struct mapwatch_record *map;
		struct event_header *runtime; /* by its type */
	};
};

/*
 * Opens the buffers of these maps, and starts to watch mappings. Mappings count of processes for
 * which `followed` is true, and of those that an event in the queue is about. 0 or -errno, logged.
 */
int event_queue_new(int events_fd, int copies_fd, bool (*followed)(void *ctx, pid_t pid), void *ctx,
		    struct event_queue **out);
void event_queue_free(struct event_queue *queue); /* NULL is fine */

/* Readable when there is something to take. */
#define EVENT_QUEUE_FDS 3
void event_queue_fds(const struct event_queue *queue, int fds[static EVENT_QUEUE_FDS]);

/* Takes in what is in the buffers. 0 or -errno, logged. */
int event_queue_fill(struct event_queue *queue);

/*
 * A target has just been registered. Takes in what has come of it until now. Leaves out mappings
 * from before since_ns, when we began to look at it: /proc had them. 0, or -errno. 1 when it became
 * another program meanwhile: no event says so, since the kernel did not know the target yet.
 */
int event_queue_settle(struct event_queue *queue, pid_t pid, uint32_t target_id, uint64_t since_ns);

/* All that waits, in order of time; the queue is empty then. Each is the caller's to release. */
struct queued_event *event_queue_take(struct event_queue *queue, size_t *count);
void queued_event_release(struct queued_event *event);

/* Records of mappings that the kernel had no room for, since the start. */
uint64_t event_queue_maps_lost(const struct event_queue *queue);
/* 0, or -errno: the kernel tells nothing of mappings, and they count as lost once a second. */
int event_queue_maps_refused(const struct event_queue *queue);

#endif
