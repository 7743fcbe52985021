// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the kernel tells: process events and new stacks from the ring buffer, new mappings from the
 * perf side-band. The two streams are merged by time, so that a stack is looked up in the mappings
 * of its moment: every record that a process caused before a stack is in one of the buffers when
 * the stack is.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/trace/gone.h"
#include "user/trace/internal.h"
#include "user/trace/late.h"
#include "user/unwind/finish.h"

/*
 * How long the threads of a process may take to stop that is held at its end: somewhat less than it
 * waits (bpf/leave.bpf.c).
 */
#define HOLD_NS (5 * NS_PER_S)

/* On a machine that starts programs all the time; then stacks are looked up in what is known. */
#define DRAIN_ROUNDS 16

static int queue_add(struct trace *trace, struct queued_event event)
{
	if (trace->queue_count == trace->queue_room) {
		size_t room = trace->queue_room ? 2 * trace->queue_room : 256;
		struct queued_event *grown = reallocarray(trace->queue, room, sizeof(*grown));

		if (!grown) {
			trace->queue_failed = true;
			return -ENOMEM;
		}
		trace->queue = grown;
		trace->queue_room = room;
	}
	event.sequence = trace->sequence++;
	trace->queue[trace->queue_count++] = event;
	return 0;
}

/*
 * At once, whatever waits in the queue before it: the process does nothing else until then, and
 * other processes that end may do so at the same time.
 */
static struct stop *hold(const struct process_event *event)
{
	char why[REASON_MAX];
	struct stop *stop;

	if (!stop_begin_ending((pid_t)event->pid, HOLD_NS, &stop, why))
		return stop;
	log_debug("process %u is not held at its end: %s", event->pid, why);
	return NULL;
}

static int on_ring(void *ctx, void *data, size_t size)
{
	const struct event_header *header = data;
	struct queued_event event = {.time_ns = header->time_ns};
	struct trace *trace = ctx;
	void *copy;

	if (size < sizeof(*header))
		return 0;
	copy = malloc(size);
	if (!copy) {
		trace->queue_failed = true;
		return 0;
	}
	memcpy(copy, data, size);
	if (header->type == EVENT_STACK)
		event.stack = copy;
	else
		event.process = copy;
	if (header->type == EVENT_LEAVE)
		event.hold = hold(copy);
	if (queue_add(trace, event)) {
		stop_free(event.hold);
		free(copy);
	}
	return 0;
}

static void on_copy(void *ctx, struct stack_copy_event *copy)
{
	const struct queued_event event = {.time_ns = copy->stack.header.time_ns,
					   .stack = &copy->stack};

	if (queue_add(ctx, event))
		free(copy);
}

static bool is_known(struct trace *trace, pid_t pid)
{
	if (target_by_pid(trace, pid) || spawn_table_has(trace->spawns, pid))
		return true;
	for (size_t i = 0; i < trace->queue_count; i++) {
		const struct process_event *event = trace->queue[i].process;

		if (event && event->pid == (uint32_t)pid)
			return true;
	}
	return false;
}

/*
 * A child's records may be here before its fork event has been taken in: the queue knows it
 * already. Or the fork came after we had emptied the ring buffer, and the event is there by now.
 */
static bool map_wanted(void *ctx, pid_t pid)
{
	struct trace *trace = ctx;

	if (is_known(trace, pid))
		return true;
	if (ring_buffer__consume(trace->ring) <= 0)
		return false;
	trace->ring_refilled = true;
	return is_known(trace, pid);
}

static void on_map(void *ctx, const struct mapwatch_record *record)
{
	struct trace *trace = ctx;
	size_t path_size = record->exec ? 1 : strlen(record->mapping.path) + 1;
	struct queued_event event = {.time_ns = record->time_ns};
	struct mapwatch_record *copy = malloc(sizeof(*copy) + path_size);

	if (!copy) {
		trace->queue_failed = true;
		return;
	}
	*copy = *record;
	copy->mapping.path = memcpy(copy + 1, record->exec ? "" : record->mapping.path, path_size);
	event.map = copy;
	if (queue_add(trace, event))
		free(copy);
}

int events_open(struct trace *trace)
{
	const struct mapwatch_callbacks callbacks = {
		.ctx = trace, .wanted = map_wanted, .record = on_map};
	int err;

	trace->ring = ring_buffer__new(bpf_map__fd(trace->skel->maps.events), on_ring, trace, NULL);
	if (!trace->ring)
		return log_errno(errno, "cannot open the BPF ring buffer");
	err = copies_new(bpf_map__fd(trace->skel->maps.copies), &trace->copies);
	if (err)
		return err;
	return mapwatch_new(&callbacks, &trace->mapwatch);
}

int events_settle(struct trace *trace, const struct target *target)
{
	bool exec = false, told = false;
	size_t kept = 0;
	int err;

	/* In this order: what a record is about, the ring tells later. */
	err = mapwatch_drain(trace->mapwatch);
	if (err < 0)
		return err;
	err = ring_buffer__consume(trace->ring);
	if (err < 0)
		return err;
	for (size_t i = 0; i < trace->queue_count; i++) {
		struct queued_event *event = &trace->queue[i];

		if (event->map && event->map->pid == target->pid) {
			if (event->time_ns < target->start_ns) {
				free(event->map);
				continue;
			}
			exec |= event->map->exec;
		}
		told |= event->process && event->process->header.type == EVENT_EXEC &&
			event->process->other_id == target->id;
		trace->queue[kept++] = *event;
	}
	trace->queue_count = kept;
	return exec && !told;
}

static void attach_new_objects(struct trace *trace, struct target *target)
{
	int n;

	if (target->launching)
		return;
	n = target_attach_image(trace, target);
	/* Probes that were there before an exec are in the new program from its start on. */
	if (n > 0 || target_has_probes(trace, target))
		target_announce(trace, target);
}

static void handle_map(struct trace *trace, const struct mapwatch_record *record)
{
	struct target *target = target_by_pid(trace, record->pid);

	if (!target) {
		spawn_table_map(trace->spawns, trace->objects, record);
		return;
	}
	if (record->exec) {
		image_free(target->next_image);
		target->next_image = image_new_empty(target->pid, trace->objects);
		return;
	}
	if (target->next_image) {
		image_add(target->next_image, &record->mapping);
		return;
	}
	image_add(target->image, &record->mapping);
	attach_new_objects(trace, target);
	late_check(trace, target, record->mapping.start, record->time_ns);
}

static void handle_fork(struct trace *trace, const struct process_event *event)
{
	struct target *parent = target_by_id(trace, event->other_id);
	struct target *target = target_new(trace, event->header.target_id, (pid_t)event->pid);

	if (!target)
		return;
	target->start_ns = event->header.time_ns;
	target->late = trace->options.children == CHILDREN_LATE;
	memcpy(target->comm, event->comm, sizeof(target->comm));
	unwind_publisher_adopt(trace->unwind, target->id);
	target->image = parent ? image_clone(parent->image, target->pid)
			       : image_new_empty(target->pid, trace->objects);
	if (!target->image) {
		target_end(trace, target, true);
		return;
	}
	if (!parent)
		image_refresh(target->image);
	target_identify(trace, target);
	attach_new_objects(trace, target);
}

/*
 * What stays with a process when it becomes another program: its links and its pidfd; and the image
 * that the exec's records have built.
 */
struct inheritance {
	int pidfd;
	struct target_attachment *attachments;
	struct image *image;
};

static struct inheritance take_inheritance(struct target *old)
{
	struct inheritance left = {
		.pidfd = old->pidfd, .attachments = old->attachments, .image = old->next_image};

	old->pidfd = -1;
	old->attachments = NULL;
	old->next_image = NULL;
	return left;
}

static void handle_exec(struct trace *trace, const struct process_event *event)
{
	struct target *old = target_by_id(trace, event->other_id), *target;
	struct inheritance left = {.pidfd = -1};

	/* Of a target that was given up (events_settle()), and its process entered anew. */
	if (!old && event->other_id && target_by_pid(trace, (pid_t)event->pid))
		return;
	if (old) {
		target_tell_untraced(trace, old);
		left = take_inheritance(old);
		target_end(trace, old, false);
	} else {
		left.image = spawn_table_take(trace->spawns, (pid_t)event->pid);
	}
	target = target_new(trace, event->header.target_id, (pid_t)event->pid);
	if (!target) {
		trace->queue_failed = true;
		image_free(left.image);
		return;
	}
	target->start_ns = event->header.time_ns;
	memcpy(target->comm, event->comm, sizeof(target->comm));
	target->whole = trace->options.children == CHILDREN_EXACT || (old && old->launching);
	target->late = !old && trace->options.children == CHILDREN_LATE;
	target->pidfd = left.pidfd;
	target->attachments = left.attachments;
	target->image = left.image ? left.image : image_new_empty(target->pid, trace->objects);
	if (!target->image) {
		trace->queue_failed = true;
		return;
	}
	/*
	 * Without records. With them that would be wrong: by now the process may be the next
	 * program already.
	 */
	if (!left.image)
		image_refresh(target->image);
	target_identify(trace, target);
	attach_new_objects(trace, target);
	late_check_all(trace, target, target->start_ns);
}

static void handle_exit(struct trace *trace, const struct process_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (!target)
		return;
	target_tell_untraced(trace, target);
	target_end(trace, target, true);
}

/* Takes the hold over. */
static void handle_leave(struct trace *trace, const struct process_event *event, struct stop *hold)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (target && target->announced && hold && trace->callbacks.leaving) {
		target->hold = hold;
		trace->callbacks.leaving(trace->callbacks.ctx, target);
		hold = target->hold;
		target->hold = NULL;
	}
	stop_free(hold);
}

static void locate(struct target *target, uint64_t address, struct location *out, bool *refreshed)
{
	if (image_locate(target->image, address, out))
		return;
	/* A mapping that was there before the watch, or whose record was lost. */
	if (!*refreshed) {
		*refreshed = true;
		image_fill(target->image);
		if (image_locate(target->image, address, out))
			return;
	}
	*out = (struct location){.offset = address};
}

/* Frame 0 is the allocator function, not the instruction in it that the probe happens to sit on. */
static void name_allocator(struct trace *trace, struct stack_entry *entry)
{
	struct location *first = &entry->locations[0];
	const struct known_object *known =
		entry->count ? known_object_find(trace, first->object) : NULL;

	if (!known || !known->probes)
		return;
	entry->allocator = probe_set_name_at(known->probes, first->offset);
	first->offset = probe_set_entry_at(known->probes, first->offset);
}

static void handle_stack(struct trace *trace, const struct stack_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);
	size_t count = event->frame_count <= ABI_MAX_FRAMES ? event->frame_count : ABI_MAX_FRAMES;
	struct location locations[ABI_MAX_FRAMES];
	uint64_t id = event->stack_id;
	struct stack_entry *entry;
	bool refreshed = false, fresh;

	if (!target)
		return;
	for (size_t i = 0; i < count; i++)
		locate(target, event->frames[i], &locations[i], &refreshed);
	/* The kernel side may not have known what is mapped there: bpf/walk.h. */
	if (trace->options.old)
		id = unwind_stack_id(locations, count, event->end);
	entry = stack_table_add(trace->stacks, target->id, id, count, &fresh);
	if (entry && fresh) {
		entry->pid = target->pid;
		memcpy(entry->locations, locations, count * sizeof(*locations));
		name_allocator(trace, entry);
	}
	if (entry && id != event->stack_id)
		stack_table_finish(trace->stacks, target->id, event->stack_id, id, event->end);
}

int target_walk_here(struct trace *trace, const struct target *target)
{
	uint64_t generation = image_generation(target->image);
	int err;

	if (trace->own_target == target->id && trace->own_generation == generation)
		return 0;
	err = unwind_publisher_set(trace->unwind, UNWIND_OWN_TARGET, target->image);
	if (err)
		return err;
	trace->own_target = target->id;
	trace->own_generation = generation;
	return 0;
}

static int finish_copy(struct trace *trace, const struct target *target,
		       const struct stack_copy_event *copy, struct stack_event *out)
{
	int err = target_walk_here(trace, target);

	return err ? err : unwind_finish_copy(trace->unwind, copy, trace->options.max_frames, out);
}

/*
 * The kernel met code that it had no tables for: the record of its mapping has been handled just
 * before, so now there are some. What comes out is entered under the id that it would have had.
 */
static void handle_stack_copy(struct trace *trace, const struct stack_copy_event *copy)
{
	struct target *target = target_by_id(trace, copy->stack.header.target_id);
	struct stack_event event;
	int err;

	if (!target)
		return;
	err = finish_copy(trace, target, copy, &event);
	if (err == -ENOENT && !image_fill(target->image))
		err = finish_copy(trace, target, copy, &event);
	if (err) {
		log_debug("process %d: a stack ends in unknown code at 0x%llx: %s", target->pid,
			  (unsigned long long)copy->pc, strerror(-err));
		handle_stack(trace, &copy->stack);
		return;
	}
	handle_stack(trace, &event);
	stack_table_finish(trace->stacks, target->id, copy->stack.stack_id, event.stack_id,
			   event.end);
}

static int by_time(const void *a, const void *b)
{
	const struct queued_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void handle(struct trace *trace, const struct queued_event *event)
{
	if (event->stack && event->stack->header.type == EVENT_STACK_COPY) {
		handle_stack_copy(trace, (const struct stack_copy_event *)event->stack);
	} else if (event->stack) {
		handle_stack(trace, event->stack);
	} else if (event->map) {
		handle_map(trace, event->map);
	} else {
		switch (event->process->header.type) {
		case EVENT_FORK:
			handle_fork(trace, event->process);
			break;
		case EVENT_EXEC:
			handle_exec(trace, event->process);
			break;
		case EVENT_EXIT:
			handle_exit(trace, event->process);
			break;
		case EVENT_LEAVE:
			handle_leave(trace, event->process, event->hold);
			break;
		case EVENT_VFORK:
			spawn_table_add(trace->spawns, (pid_t)event->process->pid);
			break;
		case EVENT_VFORK_EXIT:
			image_free(spawn_table_take(trace->spawns, (pid_t)event->process->pid));
			break;
		}
	}
}

/*
 * Records of mappings were lost: what the live processes have now is read again, allocators among
 * it, and what is unknown stays unknown.
 */
static void reread_after_loss(struct trace *trace)
{
	uint64_t lost = mapwatch_lost(trace->mapwatch);
	struct target *target, *next;

	if (lost == trace->maps_lost)
		return;
	log_debug("%llu records of new mappings were lost; reading /proc instead",
		  (unsigned long long)(lost - trace->maps_lost));
	trace->maps_lost = lost;
	HASH_ITER (hh, trace->targets, target, next) {
		uint64_t now = monotonic_ns();

		if (target->launching || image_refresh(target->image))
			continue;
		attach_new_objects(trace, target);
		late_check_unrecorded(trace, target, now);
	}
}

/*
 * What has changed goes to the unwinder once for all records of this turn; until then it asks the
 * kernel.
 */
static void publish_mappings(struct trace *trace)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next)
		target_publish(trace, target);
	/* Only now, so that what a new program shares with the one before it is not built again. */
	for (target = trace->ended; target && !target->forgotten; target = target->next_ended) {
		unwind_publisher_drop(trace->unwind, target->id);
		target->forgotten = true;
	}
	unwind_publisher_reclaim(trace->unwind);
}

/* Takes in what is in the buffers; *count: so many events. */
static int take_in(struct trace *trace, size_t *count)
{
	uint64_t start = monotonic_ns();
	struct queued_event *queue;
	int err;

	err = ring_buffer__consume(trace->ring);
	if (err < 0)
		return log_errno(err, "cannot read the BPF ring buffer");
	if (copies_take(trace->copies, on_copy, trace))
		trace->queue_failed = true;
	/*
	 * Again, if events came meanwhile: records of mappings that are older than these may be in
	 * rings that had been read.
	 */
	for (int round = 0; round < DRAIN_ROUNDS && (!round || trace->ring_refilled); round++) {
		trace->ring_refilled = false;
		err = mapwatch_drain(trace->mapwatch);
		if (err < 0)
			return err;
	}
	if (trace->queue_failed)
		return log_errno(ENOMEM, "cannot take in the kernel's events");
	reread_after_loss(trace);
	/* Handlers may wake the kernel to send more, which the next call takes in. */
	queue = trace->queue;
	*count = trace->queue_count;
	trace->queue = NULL;
	trace->queue_count = trace->queue_room = 0;
	if (*count)
		qsort(queue, *count, sizeof(*queue), by_time);
	for (size_t i = 0; i < *count; i++) {
		handle(trace, &queue[i]);
		free(queue[i].process);
		free(queue[i].stack);
		free(queue[i].map);
	}
	free(queue);
	/* Before what takes long: targets that have loaded libraries wait for it. */
	__atomic_store_n(&trace->skel->bss->shared.handled_ns, start, __ATOMIC_RELEASE);
	publish_mappings(trace);
	return 0;
}

int trace_process(struct trace *trace)
{
	size_t count = 0;
	int err = take_in(trace, &count);

	if (err || count || !gone_look(trace))
		return err;
	/*
	 * Since the buffers were empty it has run and ended: its last stacks, and most likely its
	 * exit, are in them by now.
	 */
	err = take_in(trace, &count);
	if (!err)
		gone_end(trace);
	return err;
}
