// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is done about each thing that the kernel tells. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/stop.h"
#include "user/growth/growth.h"
#include "user/misuse/misuses.h"
#include "user/trace/anchor.h"
#include "user/trace/event_queue.h"
#include "user/trace/event_stack.h"
#include "user/patch/guarded.h"
#include "user/trace/known_objects.h"
#include "user/trace/hurry.h"
#include "user/trace/late_probes.h"
#include "user/figures/peaks.h"
#include "user/trace/reclaim.h"
#include "user/trace/runtime_host.h"
#include "user/trace/sharers.h"
#include "user/stacks/slots.h"
#include "user/trace/spawn.h"
#include "user/trace/target_ends.h"
#include "user/trace/target_life.h"
#include "user/trace/target_mappings.h"
#include "user/trace/target_patches.h"
#include "user/trace/target_probes.h"
#include "user/trace/target_runtimes.h"
#include "user/trace/work.h"
#include "user/unwind/publish.h"

static void event_attach_new_objects(struct trace *trace, struct target *target)
{
	int n;

	if (target->stage == TARGET_LAUNCHING)
		return;
	n = target_attach_image(trace, target);
	/* Probes that were there before an exec are in the new program from its start on. */
	if (n > 0 || target_has_probes(trace, target))
		target_announce(trace, target);
}

static void event_handle_map(struct trace *trace, const struct mapwatch_record *record)
{
	struct target *target = target_by_pid(trace, record->pid);

	/* What a process maps that runs in a target's memory, the target maps. */
	if (!target && !record->exec && spawn_table_shares(trace->spawns, record->pid))
		target = target_by_id(trace, spawn_table_parent(trace->spawns, record->pid));
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
	event_attach_new_objects(trace, target);
	late_probes_check(trace, target, record->mapping.start, record->time_ns);
}

static void event_handle_fork(struct trace *trace, const struct process_event *event)
{
	struct target *parent = target_by_id(trace, event->other_id);
	struct target *target = target_new(trace, event->header.target_id, (pid_t)event->pid);

	if (!target)
		return;
	target->start_ns = event->header.time_ns;
	target->parent = event->other_id;
	target->late = trace->options.children == CHILDREN_LATE;
	target->held = event->held;
	memcpy(target->comm, event->comm, sizeof(target->comm));
	guarded_refuse(target->patched,
		       "it was forked from a process, and is no program of its own");
	unwind_publisher_adopt(trace->unwind, target->id);
	target->image = parent ? image_clone(parent->image, target->pid)
			       : image_new_empty(target->pid, trace->objects);
	if (!target->image) {
		target_unregister(trace, target);
		target_end(trace, target, TARGET_REMOVED);
		return;
	}
	if (!parent)
		image_refresh(target->image);
	target->growth = growth_watch_new(target->pid, GROWTH_FORKED);
	target_identify(trace, target);
	event_attach_new_objects(trace, target);
	/* One that could not be held, or for long enough. */
	if (trace->options.children == CHILDREN_EXACT)
		late_probes_check_all(trace, target, target->start_ns);
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

static struct inheritance event_take_inheritance(struct trace *trace, struct target *old)
{
	struct inheritance left;

	target_forget_gates(trace, old);
	left = (struct inheritance){
		.pidfd = old->pidfd, .attachments = old->attachments, .image = old->next_image};

	old->pidfd = -1;
	old->attachments = NULL;
	old->next_image = NULL;
	return left;
}

/*
 * Links find a process by its main thread, as it was when they were made, and single probes by one
 * thread. Another thread that calls execve() takes the main thread's id, and none of its probes
 * along.
 */
static void event_drop_dead_probes(struct trace *trace, struct inheritance *left)
{
	struct target nobody = {.pidfd = -1, .attachments = left->attachments};

	target_detach(trace, &nobody, NULL);
	left->attachments = NULL;
}

/* Nobody is there to take it: the probes come off, and the process goes on without us. */
static void event_drop_inheritance(struct trace *trace, const struct inheritance *left)
{
	struct target nobody = {.pidfd = left->pidfd, .attachments = left->attachments};

	target_release(trace, &nobody);
	image_free(left->image);
}

/* It runs in its parent's memory no longer. What it has mapped since an exec, or NULL. */
static struct image *event_take_spawn(struct trace *trace, pid_t pid)
{
	struct target *parent = target_by_id(trace, spawn_table_parent(trace->spawns, pid));

	if (parent)
		target_drop_sharer(trace, parent, pid);
	return spawn_table_take(trace->spawns, pid);
}

static void event_handle_exec(struct trace *trace, const struct process_event *event)
{
	struct target *old = target_by_id(trace, event->other_id), *target;
	struct inheritance left = {.pidfd = -1};
	bool launched = false;
	uint32_t parent;

	/* Of a target that was given up (event_queue_settle()), and its process entered anew. */
	if (!old && event->other_id && target_by_pid(trace, (pid_t)event->pid)) {
		if (event->header.target_id)
			target_abandon_id(trace, event->header.target_id);
		return;
	}
	if (old) {
		launched = old->stage == TARGET_LAUNCHING;
		parent = old->parent;
		target_tell_untraced(trace, old);
		left = event_take_inheritance(trace, old);
		if (event->by_thread)
			event_drop_dead_probes(trace, &left);
		target_end(trace, old, TARGET_REPLACED);
	} else {
		parent = spawn_table_parent(trace->spawns, (pid_t)event->pid);
		left.image = event_take_spawn(trace, (pid_t)event->pid);
	}
	/* The kernel had no row for the new program: it is not traced. */
	if (!event->header.target_id) {
		event_drop_inheritance(trace, &left);
		return;
	}
	target = target_new(trace, event->header.target_id, (pid_t)event->pid);
	if (!target) {
		trace->seen.unhandled = true;
		event_drop_inheritance(trace, &left);
		return;
	}
	target->start_ns = event->header.time_ns;
	memcpy(target->comm, event->comm, sizeof(target->comm));
	target->parent = parent;
	target->held = event->held;
	target->whole = event->held || launched || trace->options.children == CHILDREN_SYSTEMWIDE;
	target->late = !old && trace->options.children == CHILDREN_LATE;
	target->growth = growth_watch_new(target->pid, target->late ? GROWTH_ATTACHED : GROWTH_NEW);
	target->pidfd = left.pidfd;
	if (target->pidfd >= 0 && target_watch_end(trace, target))
		log_debug("the end of process %d is its exit event's to tell", target->pid);
	target->attachments = left.attachments;
	target->image = left.image ? left.image : image_new_empty(target->pid, trace->objects);
	if (!target->image) {
		trace->seen.unhandled = true;
		target_unlink(trace, target);
		target_free(trace, target);
		return;
	}
	/*
	 * Without records. With them that would be wrong: by now the process may be the next
	 * program already.
	 */
	if (!left.image)
		image_refresh(target->image);
	target_identify(trace, target);
	if (target_leave_valgrind(trace, target))
		return;
	event_attach_new_objects(trace, target);
	late_probes_check_all(trace, target, target->start_ns);
}

static void event_handle_exit(struct trace *trace, const struct process_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (!target)
		return;
	target_tell_untraced(trace, target);
	target->end_anon = (uint64_t)event->anon_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	target_ends_note(target, event->end, &slots_stats(trace->slots, target->id)->sent);
	target_count_unseen(trace, target);
	target_tell_filtered(target, (int)(event->end & 0xffff));
	target_end(trace, target, TARGET_EXITED);
}

static void event_handle_anchor_ended(struct trace *trace, const struct process_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (target)
		anchor_replace(trace, target, (pid_t)event->pid);
}

/* Takes the hold over. */
static void event_handle_leave(struct trace *trace, const struct process_event *event,
			       struct stop *hold)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (target && target->stage == TARGET_TRACED && hold && trace->callbacks.leaving) {
		target_ends_note(target, event->end, &slots_stats(trace->slots, target->id)->sent);
		target->hold = hold;
		trace->callbacks.leaving(trace->callbacks.ctx, target);
		hold = target->hold;
		target->hold = NULL;
	}
	stop_free(hold);
}

static void event_handle_peak(struct trace *trace, const struct process_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);

	if (target)
		peaks_look(trace->figures, target->id, target->pid, &target->peak);
}

static void event_handle_process(struct trace *trace, struct queued_event *queued)
{
	const struct process_event *event = queued->process.event;

	switch (event->header.type) {
	case EVENT_FORK:
		event_handle_fork(trace, event);
		break;
	case EVENT_EXEC:
		event_handle_exec(trace, event);
		break;
	case EVENT_EXIT:
		event_handle_exit(trace, event);
		break;
	case EVENT_ANCHOR_ENDED:
		event_handle_anchor_ended(trace, event);
		break;
	case EVENT_PEAK:
		event_handle_peak(trace, event);
		break;
	case EVENT_LEAVE:
		event_handle_leave(trace, event, TAKE_PTR(queued->process.hold));
		break;
	case EVENT_VFORK:
		spawn_table_add(trace->spawns, (pid_t)event->pid, event->header.target_id,
				event->header.time_ns);
		sharers_expect(trace);
		break;
	case EVENT_VFORK_EXIT:
		if (event->ended)
			sharers_count_unseen(trace, (pid_t)event->pid);
		image_free(event_take_spawn(trace, (pid_t)event->pid));
		break;
	}
}

/* What a language tells, or a guard. */
static void event_handle_runtime(struct trace *trace, const struct event_header *header)
{
	struct target *target = target_by_id(trace, header->target_id);

	if (event_is_of_runtime(header->type))
		runtime_host_event(trace, header);
	else if (target)
		misuses_touched(trace->misuses, target->pid, target_patched(target),
				(const void *)header);
}

static void event_handle(struct trace *trace, struct queued_event *event)
{
	switch (event->kind) {
	case QUEUED_PROCESS:
		event_handle_process(trace, event);
		break;
	case QUEUED_STACK:
		event_handle_stack(trace, event->stack);
		break;
	case QUEUED_STACK_COPY:
		event_handle_stack_copy(trace, event->copy);
		break;
	case QUEUED_MAP:
		event_handle_map(trace, event->map);
		break;
	case QUEUED_RUNTIME:
		event_handle_runtime(trace, event->runtime);
		break;
	}
}

/*
 * Records of mappings were lost: what the live processes have now is read again, allocators among
 * it, and what is unknown stays unknown.
 */
static void events_reread_after_loss(struct trace *trace)
{
	uint64_t lost = event_queue_maps_lost(trace->queue);
	struct target *target, *next;

	if (lost == trace->seen.maps_lost)
		return;
	if (!event_queue_maps_refused(trace->queue))
		log_debug("%llu records of new mappings were lost; reading /proc instead",
			  (unsigned long long)(lost - trace->seen.maps_lost));
	trace->seen.maps_lost = lost;
	HASH_ITER (hh, trace->targets, target, next) {
		uint64_t now = monotonic_ns();

		if (target->stage == TARGET_LAUNCHING || image_refresh(target->image))
			continue;
		event_attach_new_objects(trace, target);
		late_probes_check_unrecorded(trace, target, now);
	}
}

/* Takes in what is in the buffers; *count: so many events. */
static int events_take_in(struct trace *trace, size_t *count)
{
	uint64_t start = monotonic_ns();
	struct queued_event *events;
	int err;

	trace_note_work(trace);
	err = event_queue_fill(trace->queue);
	if (err)
		return err;
	if (trace->seen.unhandled)
		return log_errno(ENOMEM, "cannot take in the kernel's events");
	events_reread_after_loss(trace);
	/* Handlers may wake the kernel to send more, which the next call takes in. */
	events = event_queue_take(trace->queue, count);
	hurry_choose(trace, events, *count);
	for (size_t i = 0; i < *count; i++) {
		event_handle(trace, &events[i]);
		queued_event_release(&events[i]);
		reclaim_many(trace);
		if (i + 1 < *count)
			hurry_answer_until(trace, &events[i + 1]);
	}
	free(events);
	/* While those that have loaded libraries wait. */
	target_patches_look(trace);
	/* Before what takes long: targets that have loaded libraries wait for it. */
	__atomic_store_n(&trace->skel->bss->shared.handled_ns, start, __ATOMIC_RELEASE);
	targets_publish(trace);
	return 0;
}

int trace_process(struct trace *trace)
{
	size_t count = 0;
	int err = events_take_in(trace, &count);

	if (!err)
		sharers_settle(trace);
	if (err || count || !targets_mark_gone(trace))
		return err;
	/*
	 * Since the buffers were empty it has run and ended: its last stacks, and most likely its
	 * exit, are in them by now.
	 */
	err = events_take_in(trace, &count);
	if (!err) {
		targets_end_gone(trace);
		reclaim_many(trace);
	}
	return err;
}
