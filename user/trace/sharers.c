// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/sharers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/proc.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/spawn.h"

/* A vfork child that runs calls exec within a millisecond. */
#define SETTLED_NS 20000000
#define RAN_NS	   (SETTLED_NS / 2)

int sharers_start(struct trace *trace)
{
	struct epoll_event event = {.events = EPOLLIN};

	trace->fds.sharers = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (trace->fds.sharers < 0 ||
	    epoll_ctl(trace->fds.all, EPOLL_CTL_ADD, trace->fds.sharers, &event))
		return log_errno(errno, "timer");
	return 0;
}

/* Single probes go by the memory, and those in all processes by nothing. */
static bool sharers_need_probes(const struct trace *trace)
{
	return trace->options.children != CHILDREN_SYSTEMWIDE &&
	       trace->options.attach != ATTACH_SINGLE;
}

static int sharer_attach_set(struct trace *trace, struct sharer *sharer,
			     const struct probe_set *set)
{
	struct target_attachment *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->set = set;
	err = attach_probes(trace->options.attach, &trace->programs, set, sharer->pid,
			    &a->attachment);
	if (err) {
		free(a);
		return err;
	}
	a->next = sharer->attachments;
	sharer->attachments = a;
	return 0;
}

static int sharer_add(struct trace *trace, struct target *target, pid_t pid)
{
	struct sharer *sharer = calloc(1, sizeof(*sharer));
	const struct target_attachment *a;
	int err = 0;

	if (!sharer)
		return -ENOMEM;
	sharer->pid = pid;
	sharer->next = target->sharers;
	target->sharers = sharer;
	if (!sharers_need_probes(trace))
		return 0;
	/* A gate is in the memory that it shares. */
	for (a = target->attachments; a && !err; a = a->next)
		err = a->gated ? 0 : sharer_attach_set(trace, sharer, a->set);
	if (err)
		target_drop_sharer(trace, target, pid);
	return err;
}

int sharers_find(struct trace *trace, struct target *target)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t count = 0;
	int err = 0;

	/* Where the kernel does not tell, each process is taken for one of its own. */
	if (proc_sharers(target->pid, &pids, &count))
		return 0;
	for (size_t i = 0; i < count && !err; i++) {
		if (spawn_table_has(trace->spawns, pids[i]) || target_by_pid(trace, pids[i]))
			continue;
		err = sharer_add(trace, target, pids[i]);
		if (err == -ESRCH) {
			err = 0;
			continue;
		}
		spawn_table_add(trace->spawns, pids[i], target->id, monotonic_ns());
		spawn_table_settle(trace->spawns, pids[i]);
	}
	return err;
}

/* Does the kernel side count the process to the target? */
static bool sharer_is_counted(const struct trace *trace, const struct target *target, pid_t pid)
{
	uint32_t tgid = (uint32_t)pid;
	struct target_info info;

	return !bpf_map_lookup_elem(bpf_map__fd(trace->skel->maps.targets), &tgid, &info) &&
	       info.id == target->id;
}

static void sharer_uncount(struct trace *trace, const struct target *target, pid_t pid)
{
	uint32_t tgid = (uint32_t)pid;

	if (!sharer_is_counted(trace, target, pid))
		return;
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.targets), &tgid);
	targets_changed(trace);
}

void sharers_register(struct trace *trace, const struct target *target)
{
	const struct target_info info = {.id = target->id,
					 .flags = TARGET_VFORK | target_flags(trace, target)};
	const struct sharer *sharer;

	for (sharer = target->sharers; sharer; sharer = sharer->next) {
		uint32_t tgid = (uint32_t)sharer->pid;

		if (sharer_is_counted(trace, target, sharer->pid))
			continue;
		bpf_map_update_elem(bpf_map__fd(trace->skel->maps.targets), &tgid, &info,
				    BPF_NOEXIST);
		/* Its exec or exit before that was nobody's business. */
		if (!proc_shares(target->pid, sharer->pid))
			sharer_uncount(trace, target, sharer->pid);
	}
	targets_changed(trace);
}

/* Gates and such probes as see all that runs in the memory have missed nothing. */
static void sharer_count_missed(struct trace *trace, const struct target *target)
{
	if (target->has_probes)
		__atomic_add_fetch(&slots_stats(trace->slots, target->id)->lost[LOST_LATE_PROBES],
				   1, __ATOMIC_RELAXED);
}

void sharers_count_unseen(struct trace *trace, pid_t pid)
{
	struct target *target = target_by_id(trace, spawn_table_parent(trace->spawns, pid));

	if (target && sharers_need_probes(trace) && spawn_table_is_unsettled(trace->spawns, pid))
		sharer_count_missed(trace, target);
}

void sharers_expect(struct trace *trace)
{
	const struct itimerspec soon = {.it_value.tv_nsec = SETTLED_NS};

	if (sharers_need_probes(trace))
		timerfd_settime(trace->fds.sharers, 0, &soon, NULL);
}

/*
 * Has the process still to run? Then it has run for less time than a vfork child runs, and it does
 * not sleep as such a child would. It waits for a processor, for the disk of its program, or for a
 * debugger.
 */
static bool sharer_has_yet_to_run(pid_t pid)
{
	struct proc_stat stat;
	uint64_t ran;

	return !proc_stat(pid, &stat) && stat.state != 'S' && !proc_ran_ns(pid, &ran) &&
	       ran < RAN_NS;
}

/* Its end is about to be told. */
static bool sharer_has_ended(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

void sharers_settle(struct trace *trace)
{
	uint64_t expired, now = monotonic_ns();
	struct target *target;
	pid_t pid;

	if (read(trace->fds.sharers, &expired, sizeof(expired)) != sizeof(expired))
		return;
	while ((pid = spawn_table_unsettled(trace->spawns, now - SETTLED_NS / 2)) != 0) {
		bool shares;

		target = target_by_id(trace, spawn_table_parent(trace->spawns, pid));
		shares = target && proc_shares(target->pid, pid);
		if (shares && sharer_has_yet_to_run(pid)) {
			spawn_table_postpone(trace->spawns, pid, now);
			continue;
		}
		spawn_table_settle(trace->spawns, pid);
		if (!shares) {
			if (target && sharer_has_ended(pid))
				sharer_count_missed(trace, target);
			continue;
		}
		/* Until now what it did was not seen, but by gates, which are in the memory. */
		sharer_count_missed(trace, target);
		if (!sharer_add(trace, target, pid))
			log_debug("process %d runs in the memory of process %d (%s) and is counted "
				  "to it",
				  pid, target->pid, target->comm);
	}
	if (spawn_table_unsettled(trace->spawns, now))
		sharers_expect(trace);
}

void sharers_attach_set(struct trace *trace, struct target *target, const struct probe_set *set)
{
	struct sharer *sharer;

	if (!sharers_need_probes(trace))
		return;
	/* One that has ended meanwhile needs none. */
	for (sharer = target->sharers; sharer; sharer = sharer->next)
		sharer_attach_set(trace, sharer, set);
}

void sharers_abandon(struct trace *trace, struct target *target)
{
	pid_t pid;

	while ((pid = spawn_table_of(trace->spawns, target->id)) != 0) {
		image_free(spawn_table_take(trace->spawns, pid));
		if (!sharer_is_counted(trace, target, pid))
			continue;
		sharer_uncount(trace, target, pid);
		target->alive = true;
		if (!kill(pid, 0))
			log_warn("process %d (%s) has ended; process %d, which runs in its memory, "
				 "goes on and is no longer watched: memleakbpf -p %d",
				 target->pid, target->comm, pid, pid);
	}
}
