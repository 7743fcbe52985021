// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_life.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/patch/guarded.h"
#include "user/process/proc.h"
#include "user/trace/known_objects.h"
#include "user/trace/sharers.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/target_ends.h"

void target_announce(struct trace *trace, struct target *target)
{
	if (target->stage == TARGET_TRACED)
		return;
	target->stage = TARGET_TRACED;
	target_ends_begin(target);
	trace->callbacks.attached(trace->callbacks.ctx, target);
}

/*
 * A program with a loader of which nothing else is mapped, or has been seen: its libraries are still to come. One that has ended
 * so was too short for us, or we too slow, and it is not known that it has no allocator.
 */
static bool target_is_loading(const struct target *target)
{
	const struct object *program = NULL, *loader = NULL;
	size_t count = image_range_count(target->image);

	for (size_t i = 0; i < count; i++) {
		const struct object *object = image_range_at(target->image, i)->object;

		if (!object || object_is_vdso(object) || object == program || object == loader)
			continue;
		if (object_has_interp(object) && !program)
			program = object;
		else if (!loader)
			loader = object;
		else
			return false;
	}
	return program != NULL;
}

void target_tell_untraced(struct trace *trace, struct target *target)
{
	size_t count = target->image ? image_range_count(target->image) : 0;

	if (target->stage != TARGET_FOUND || !count || !trace->callbacks.untraced)
		return;
	/* One whose probes came too late, or could not be placed, is another matter. */
	for (size_t i = 0; i < count; i++) {
		const struct object *object = image_range_at(target->image, i)->object;

		if (known_probes_of(trace, object, KNOWN_ALLOCATOR) ||
		    known_probes_of(trace, object, KNOWN_TELLER))
			return;
	}
	/* Of a child that is counted: target_count_unseen(). */
	if (target->parent && target_is_loading(target))
		return;
	target->stage = TARGET_UNTRACED;
	trace->callbacks.untraced(trace->callbacks.ctx, target);
}

void trace_tell_untraced(struct trace *trace, uint64_t min_ns)
{
	uint64_t now = monotonic_ns();
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		if (now - target->start_ns >= min_ns)
			target_tell_untraced(trace, target);
	}
}

void target_tell_filtered(const struct target *target, int wait_status)
{
	if (!guarded_is(target->patched) || !WIFSIGNALED(wait_status) ||
	    WTERMSIG(wait_status) != SIGSYS)
		return;
	log_warn(
		"process %d (%s) was ended by SIGSYS: a seccomp filter forbids a system call that "
		"it has made. Guards call madvise, until they see that a filter has come; a filter "
		"that comes to all threads at once, by an instruction of the program's own, may "
		"come amid such a call: try without --guard",
		target->pid, target->comm);
}

void target_end(struct trace *trace, struct target *target, enum target_stage end)
{
	bool told = target->stage == TARGET_TRACED && end != TARGET_REMOVED;

	sharers_abandon(trace, target);
	target->stage = end;
	target->alive |= end == TARGET_REMOVED;
	target_unlink(trace, target);
	if (told)
		trace->callbacks.ended(trace->callbacks.ctx, target);
	target_release(trace, target);
	target->next_ended = trace->ended;
	trace->ended = target;
	trace->ended_count++;
}

void target_abandon_id(struct trace *trace, uint32_t id)
{
	struct target *nobody = calloc(1, sizeof(*nobody));

	/* Without memory its row stays as it is, and is never used again. */
	if (!nobody)
		return;
	nobody->id = id;
	nobody->pidfd = -1;
	nobody->stage = TARGET_REMOVED;
	nobody->alive = true;
	nobody->next_ended = trace->ended;
	trace->ended = nobody;
	trace->ended_count++;
}

bool target_leave_valgrind(struct trace *trace, struct target *target)
{
	if (proc_elf(target->pid) != PROC_ELF_VALGRIND)
		return false;
	log_warn("process %d (%s) runs under valgrind, and is not traced: a probe would be its "
		 "end, and see nothing; run the program without valgrind",
		 target->pid, target->comm);
	target_detach(trace, target, NULL);
	target_unregister(trace, target);
	target_end(trace, target, TARGET_REMOVED);
	return true;
}

void target_count_unseen(struct trace *trace, const struct target *target)
{
	uint64_t *lost = trace->skel->bss->shared.lost;
	const struct target *parent = target;

	/* One that was killed as it waited for us has missed nothing. */
	if (target->stage != TARGET_FOUND || !target->parent || target_is_held(trace, target))
		return;
	while (parent && parent->stage != TARGET_TRACED)
		parent = parent->parent ? target_by_id(trace, parent->parent) : NULL;
	/* Else it is shown with each. */
	if (parent)
		lost = slots_stats(trace->slots, parent->id)->lost;
	__atomic_add_fetch(&lost[LOST_SHORT_CHILDREN], 1, __ATOMIC_RELAXED);
}

/* Its process is not this target any more, by the kernel's table. */
static bool target_is_unlisted(const struct trace *trace, const struct target *target)
{
	uint32_t tgid = (uint32_t)target->pid;
	struct target_info info;

	return bpf_map_lookup_elem(bpf_map__fd(trace->skel->maps.targets), &tgid, &info) ||
	       info.id != target->id;
}

int target_watch_end(struct trace *trace, const struct target *target)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = target->id};

	if (!epoll_ctl(trace->fds.ends, EPOLL_CTL_ADD, target->pidfd, &event))
		return 0;
	return errno == EEXIST && !epoll_ctl(trace->fds.ends, EPOLL_CTL_MOD, target->pidfd, &event)
		       ? 0
		       : -errno;
}

/* As many as one call tells of; the next one has the others. */
static bool targets_mark_ended(struct trace *trace)
{
	struct epoll_event events[64];
	int n = epoll_wait(trace->fds.ends, events, ARRAY_SIZE(events), 0);
	bool some = false;

	for (int i = 0; i < n; i++) {
		struct target *target = target_by_id(trace, (uint32_t)events[i].data.u64);

		if (!target)
			continue;
		target->gone = true;
		some = true;
	}
	return some;
}

bool targets_mark_gone(struct trace *trace)
{
	uint64_t lost =
		__atomic_load_n(&trace->skel->bss->shared.lost[LOST_EVENTS], __ATOMIC_RELAXED);
	bool look = lost != trace->seen.events_lost, some = targets_mark_ended(trace);
	struct target *target, *next;

	trace->seen.events_lost = lost;
	if (!look)
		return some;
	/* The lost events may have been the ends of some. */
	HASH_ITER (hh, trace->targets, target, next) {
		target->gone |= target_is_unlisted(trace, target);
		some |= target->gone;
	}
	return some;
}

void targets_end_gone(struct trace *trace)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		if (target->gone)
			target_end(trace, target, TARGET_EXITED);
	}
}
