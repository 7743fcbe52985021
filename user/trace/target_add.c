// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Targets that the user of the trace names: adding and removing them. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/traceable.h"
#include "user/process/proc.h"
#include "user/trace/anchor.h"
#include "user/trace/event_queue.h"
#include "user/growth/growth.h"
#include "user/patch/guarded.h"
#include "user/trace/later.h"
#include "user/trace/reclaim.h"
#include "user/scopes/scopes.h"
#include "user/trace/sharers.h"
#include "user/trace/spawn.h"
#include "user/trace/target_life.h"
#include "user/trace/target_mappings.h"
#include "user/trace/target_probes.h"
#include "user/trace/target_runtimes.h"
#include "user/trace/teller.h"
#include "user/unwind/publish.h"

/* A process that becomes another program each time that we attach is not worth more. */
#define ATTACH_TRIES 5

static int target_add_process(struct trace *trace, pid_t pid, bool child);

static int target_say_no_allocator(const struct trace *trace, const struct target *target)
{
	const struct provider_options *o = &trace->options.providers;

	if (trace->options.gate_or_none)
		return -ENOENT;
	if (trace->options.usdt == TRACE_USDT_ONLY)
		log_error("--attach usdt: process %d (%s) maps no object that tells its "
			  "allocations (probes otel_memory:alloc and :free); --attach auto traces "
			  "functions instead",
			  target->pid, target->comm);
	else if (o->object)
		log_error("process %d (%s) maps no object that matches -O %s and has allocator "
			  "functions",
			  target->pid, target->comm, o->object);
	else if (target_is_go(target))
		log_error("process %d (%s): " TRACE_GO_TEXT, target->pid, target->comm,
			  target->pid);
	else
		log_error(
			"process %d (%s): no allocator found: nothing that it maps defines malloc "
			"and free (a static, stripped "
			"program?); name one with -O, --symbols-prefix or --alloc-fn and --free-fn",
			target->pid, target->comm);
	return -ENOENT;
}

/* -EUSERS, logged: there is no row for it; or -ENOMEM. */
static int target_make(struct trace *trace, pid_t pid, struct target **out)
{
	uint32_t id = target_id_take(trace);

	/* Some rows wait for others, to be cleared with them. */
	if (!id) {
		reclaim_ended(trace);
		id = target_id_take(trace);
	}
	if (!id) {
		log_error("process %d cannot be traced: %u processes are already", pid,
			  ABI_TARGET_SLOTS);
		return -EUSERS;
	}
	*out = target_new(trace, id, pid);
	if (!*out)
		target_id_give(trace, id);
	return *out ? 0 : -ENOMEM;
}

static int target_open_pidfd(struct trace *trace, struct target *target)
{
	target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pidfd < 0)
		return -errno;
	return target_watch_end(trace, target);
}

/* Has it ended meanwhile? A pidfd cannot mean another process that got the same pid. */
static bool target_pidfd_ended(const struct target *target)
{
	struct pollfd fd = {.fd = target->pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

/* It may have been entered in the kernel's table: what it has left there goes like any other's. */
static void target_discard(struct trace *trace, struct target *target)
{
	target_unregister(trace, target);
	target_end(trace, target, TARGET_REMOVED);
}

/*
 * Children that were forked before the target was entered in the table: from then on the kernel
 * follows forks by itself. One that cannot be traced (it may be a shell that has just been
 * replaced, or have ended) is left out.
 */
static void target_add_children(struct trace *trace, pid_t pid)
{
	_cleanup_free_ pid_t *children = NULL;
	size_t count = 0;

	if (proc_children(pid, &children, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (target_by_pid(trace, children[i]) ||
		    spawn_table_has(trace->spawns, children[i]))
			continue;
		/* One that has come just now: its event is on the way, and it is no target itself. */
		if (!proc_shares(pid, children[i]))
			target_add_process(trace, children[i], true);
	}
}

/* Does every --scope name a function of what the target maps? 0; -ENOENT, logged. */
static int target_check_scopes(const struct trace *trace, const struct target *target)
{
	size_t spec;

	if (!scopes_miss(trace->scopes, &spec))
		return 0;
	scopes_say_missing(trace->scopes,
			   &(struct scopes_process){
				   .pid = target->pid,
				   .comm = target->comm,
				   .image = target->image,
				   .language = target_managed_language(target),
			   },
			   spec);
	return -ENOENT;
}

/*
 * Everything between knowing the pid and its allocations counting. -ESRCH, not logged, when it ends
 * meanwhile.
 */
static int target_prepare(struct trace *trace, struct target *target, bool child)
{
	int err = target_open_pidfd(trace, target);

	if (err)
		return err == -ESRCH || err == -ENOMEM
			       ? err
			       : log_errno(err, "process %d: its end cannot be watched",
					   target->pid);
	target->runs = true;
	target_identify(trace, target);
	log_progress("attaching to %d (%s) ...", target->pid, target->comm);
	err = image_new(target->pid, trace->objects, &target->image);
	if (err)
		return err;
	anchor_choose(trace, target);
	err = target_attach_image(trace, target);
	if (err < 0)
		return err;
	if (err == 0)
		return child ? -ENOENT : target_say_no_allocator(trace, target);
	err = child ? 0 : target_check_scopes(trace, target);
	if (err)
		return err;
	target_publish(trace, target);
	err = sharers_find(trace, target);
	if (err)
		return err;
	sharers_register(trace, target);
	err = target_register(trace, target);
	/* Those that were made meanwhile. */
	err = err ?: sharers_find(trace, target);
	if (err)
		return err;
	sharers_register(trace, target);
	target->growth = growth_watch_new(target->pid, GROWTH_ATTACHED);
	/* Only from now on does the kernel side notice what is mapped. */
	target->published = 0;
	target_publish(trace, target);
	if (target_pidfd_ended(target))
		return -ESRCH;
	err = event_queue_settle(trace->queue, target->pid, target->id, target->start_ns);
	return err > 0 ? -EAGAIN : err;
}

/* Of a target that is not traced after all. */
static void target_say_why_not(struct trace *trace, const struct target *target, int err,
			       bool child)
{
	trace->refused.go = err == -ENOENT && target_is_go(target);
	if (child)
		log_debug("child %d (%s) is not traced: %s", target->pid, target->comm,
			  strerror(-err));
	else if (trace->options.gate_or_none)
		snprintf(trace->refused.reason, sizeof(trace->refused.reason), "%s",
			 err != -ENOENT	     ? target->refusal
			 : trace->refused.go ? TRACE_GO_REASON
					     : "no allocator was found in it");
	else if (err == -ESRCH)
		log_error("process %d (%s) has ended before it could be traced", target->pid,
			  target->comm);
	else if (err == -EAGAIN)
		log_error(
			"process %d (%s) becomes other programs faster than it can be attached to",
			target->pid, target->comm);
}

static int target_add_process(struct trace *trace, pid_t pid, bool child)
{
	struct target *target;
	int err = child ? 0 : traceable_check(pid);

	trace->refused.reason[0] = '\0';
	trace->refused.go = false;
	if (child && proc_elf(pid) == PROC_ELF_VALGRIND)
		err = -EOPNOTSUPP;
	if (err)
		return err;
	for (int tries = 1;; tries++) {
		err = target_make(trace, pid, &target);
		if (err)
			return err;
		err = target_prepare(trace, target, child);
		log_progress_end();
		if (!err)
			break;
		if (err != -EAGAIN || tries == ATTACH_TRIES) {
			target_say_why_not(trace, target, err, child);
			target_discard(trace, target);
			return err;
		}
		log_debug("process %d has become another program meanwhile", pid);
		target_discard(trace, target);
	}
	/* What was mapped while we attached has its record in the queue. */
	target->start_ns = monotonic_ns();
	guarded_look(trace->patches, target_patched(target));
	target->runs = false;
	target_announce(trace, target);
	if (trace->options.children != CHILDREN_NONE)
		target_add_children(trace, pid);
	return 0;
}

int trace_add_process(struct trace *trace, pid_t pid)
{
	/* Several pids may be given, some of them children of others. */
	return target_by_pid(trace, pid) || spawn_table_has(trace->spawns, pid)
		       ? 0
		       : target_add_process(trace, pid, false);
}

/* While the command waits to begin: the programs for its runtime, where one of its files is such. */
static void target_load_for(struct trace *trace, const struct target *target)
{
	for (size_t i = 0; i < target->preloaded_count; i++) {
		const struct known_object *known = known_object_get(trace, target->preloaded[i]);

		/* What they are refused for is said when the runtime is entered. */
		if (known && runtime_object_has_frames(known->runtime)) {
			later_runtimes(trace, 0);
			return;
		}
	}
}

int trace_add_launched(struct trace *trace, pid_t pid, char *const *paths, size_t path_count)
{
	struct target *target;
	int err = target_make(trace, pid, &target), attached = 0;

	if (err)
		return err;
	target->stage = TARGET_LAUNCHING;
	target->image = image_new_empty(pid, trace->objects);
	target->preloaded = calloc(path_count + 1, sizeof(*target->preloaded));
	err = target->image && target->preloaded ? target_open_pidfd(trace, target) : -ENOMEM;
	for (size_t i = 0; !err && i < path_count; i++) {
		struct object *object;

		if (object_cache_open(trace->objects, paths[i], &object))
			continue;
		object_map(object);
		target->preloaded[target->preloaded_count++] = object;
		teller_look_at(trace, target, object);
	}
	target_load_for(trace, target);
	for (size_t i = 0; !err && i < target->preloaded_count; i++) {
		err = target_attach_object(trace, target, target->preloaded[i]);
		unwind_publisher_hold(trace->unwind, target->id, target->preloaded[i]);
		if (err > 0) {
			attached++;
			err = 0;
		}
	}
	if (!err)
		err = target_attach_beside(trace, target);
	target->layered = attached > 1;
	if (!err && !attached)
		log_debug("no allocator known before exec; it will be looked for afterwards");
	if (!err)
		err = target_register(trace, target);
	if (err)
		target_discard(trace, target);
	return err;
}

void trace_remove_target(struct trace *trace, struct target *target)
{
	target_discard(trace, target);
	reclaim_ended(trace);
}

bool trace_refused_go(const struct trace *trace)
{
	return trace->refused.go;
}

const char *trace_refusal(const struct trace *trace)
{
	return trace->refused.reason;
}

const char *target_refusal(const struct target *target)
{
	return target->refusal;
}
