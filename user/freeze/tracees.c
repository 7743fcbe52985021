// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stops are looked at with WNOWAIT and never taken. The thread's exit code keeps the signal that
 * stopped it on its way, and waiting would clear that. So the signal is delivered even if the tool
 * dies before it can pass it on.
 */
#include "user/freeze/tracees.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "bpf/sleepers_abi.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/stop_refused.h"
#include "user/process/frozen.h"
#include "user/process/proc.h"

/*
 * Pause between two looks at threads that have not stopped yet. After so many looks we ask whether
 * one is frozen.
 */
#define LOOK_NS	     20000
#define FROZEN_LOOKS 50

/* ---- stopping ----------------------------------------------------------------------------- */

static struct tracee *tracees_find_tracee(struct tracees *all, pid_t tid)
{
	for (size_t i = 0; i < all->count; i++) {
		size_t at = (all->found + 1 + i) % all->count;

		if (all->items[at].thread.tid == tid) {
			all->found = at;
			return &all->items[at];
		}
	}
	return NULL;
}

static struct tracee *tracees_add_tracee(struct tracees *all, pid_t tid)
{
	if (!RESERVE_ITEM(all->items, all->count, all->room, 64))
		return NULL;
	all->items[all->count] = (struct tracee){.thread = {.tid = tid}};
	return &all->items[all->count++];
}

/* 1: seized, 0: the thread is ending and need not be, -errno. */
static int tracees_seize(struct tracees *all, pid_t pid, pid_t tid)
{
	char state;
	int err;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		err = errno;
		state = stop_thread_state(pid, tid);
		if (err == ESRCH || !state || strchr("ZX", state))
			return 0;
		return stop_explain(pid, err, all->reason);
	}
	/* Fails only for a thread that is ending, which will be found gone. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 1;
}

static int tracees_seize_one(struct tracees *all, pid_t pid, pid_t tid)
{
	int one;

	if (!tracees_add_tracee(all, tid))
		return refuse(all->reason, -ENOMEM, "no memory to stop it");
	one = tracees_seize(all, pid, tid);
	if (one <= 0)
		all->count--;
	return one;
}

struct tracees_seized {
	struct tracees *all;
	pid_t pid;
	int count;
};

static int tracees_seize_visited(void *ctx, pid_t tid)
{
	struct tracees_seized *seized = ctx;
	int one;

	if (tid == seized->all->but || tracees_find_tracee(seized->all, tid))
		return 0;
	one = tracees_seize_one(seized->all, seized->pid, tid);
	if (one < 0)
		return one;
	seized->count += one;
	return 0;
}

/* Seizes one process's threads that are not seized yet. Returns how many there were, or -errno. */
static int tracees_seize_threads(struct tracees *all, pid_t pid)
{
	struct tracees_seized seized = {.all = all, .pid = pid};
	int err = proc_each_thread(pid, tracees_seize_visited, &seized);

	if (err != -ESRCH)
		return err ?: seized.count;
	return pid != all->pid ? 0 : refuse(all->reason, -ESRCH, "it has ended");
}

static int tracees_seize_new(struct tracees *all)
{
	int found = tracees_seize_threads(all, all->pid);

	for (size_t i = 0; found >= 0 && i < all->sharer_count; i++) {
		int more = tracees_seize_threads(all, all->sharers[i]);

		found = more < 0 ? more : found + more;
	}
	return found;
}

/* ---- those that are left asleep ------------------------------------------------------------ */

static int tracees_leave_asleep(void *ctx, const struct sleeper *sleeper)
{
	struct tracees *all = ctx;
	struct tracee *t;

	if (tracees_find_tracee(all, (pid_t)sleeper->tid))
		return 0;
	t = tracees_add_tracee(all, (pid_t)sleeper->tid);
	if (!t)
		return -ENOMEM;
	t->asleep = true;
	t->switches = sleeper->switches;
	return registers_of_sleeper(&t->thread, sleeper, &all->layout);
}

static int tracees_mark_sleeper(void *ctx, const struct sleeper *sleeper)
{
	struct tracee *t = tracees_find_tracee(ctx, (pid_t)sleeper->tid);

	if (t && t->switches == sleeper->switches)
		t->seen = true;
	return 0;
}

static bool tracees_undisturbed(struct tracees *all)
{
	size_t asleep = 0, seen = 0;

	for (size_t i = 0; i < all->count; i++) {
		all->items[i].seen = false;
		asleep += all->items[i].asleep;
	}
	if (!asleep)
		return true;
	if (!all->sleepers ||
	    all->sleepers->look(all->sleepers->ctx, all->pid, false, tracees_mark_sleeper, all))
		return false;
	for (size_t i = 0; i < all->count; i++)
		seen += all->items[i].asleep && all->items[i].seen;
	return asleep == seen;
}

/*
 * Seizes threads that were left asleep; not the ones that still sleep, unless `every`. Returns how
 * many, or -errno.
 */
static int tracees_seize_sleepers(struct tracees *all, bool every)
{
	int seized = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct tracee *t = &all->items[i];
		int one;

		if (!t->asleep || (t->seen && !every))
			continue;
		t->asleep = false;
		free(t->thread.words);
		t->thread = (struct stop_thread){.tid = t->thread.tid};
		one = tracees_seize(all, all->pid, t->thread.tid);
		if (one < 0)
			return one;
		t->gone = !one;
		seized++;
	}
	return seized;
}

/* ---- waiting for them ---------------------------------------------------------------------- */

/*
 * Has the thread stopped? Any stop will do: the one we asked for, a group stop, a signal on its
 * way.
 */
void tracees_look_at(struct tracee *t)
{
	siginfo_t info = {0};
	int event, signal;

	if (waitid(P_PID, (id_t)t->thread.tid, &info,
		   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL)) {
		t->gone = true;
		return;
	}
	if (!info.si_pid)
		return;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		t->gone = true;
		/*
		 * Buries it: its process's end, and an exec by another thread, wait for that.
		 * WSTOPPED is left out, so no stop is taken.
		 */
		waitid(P_PID, (id_t)t->thread.tid, &info, WEXITED | WNOHANG | __WALL);
		return;
	}
	event = info.si_status >> 8;
	signal = info.si_status & 0x7f;
	t->stopped = true;
	t->asked = event == PTRACE_EVENT_STOP && signal == SIGTRAP;
	/* Bit 7: a system call's beginning or end, after a copy that failed. */
	t->signal = event || info.si_status & 0x80 ? 0 : signal;
}

/* Is it the first thread of its process? That one's id is the process's. */
static bool tracees_is_first(const struct tracees *all, const struct tracee *t)
{
	for (size_t i = 0; i < all->sharer_count; i++) {
		if (all->sharers[i] == t->thread.tid)
			return true;
	}
	return t->thread.tid == all->pid;
}

/*
 * A process's first thread may end before its others, by pthread_exit() or as all are killed.
 * Nobody is told until the others have been buried: a wait for it may wait for threads that stand
 * still.
 */
static bool tracees_has_ended(const struct tracee *t)
{
	char state = stop_thread_state(t->thread.tid, t->thread.tid);

	return !state || strchr("ZX", state);
}

/* A thread that has not stopped, one of the first threads or one of the others; NULL: none. */
static struct tracee *tracees_missing(struct tracees *all, bool first)
{
	for (size_t i = 0; i < all->count; i++) {
		struct tracee *t = &all->items[i];

		if (t->asleep || t->stopped || t->gone || tracees_is_first(all, t) != first)
			continue;
		if (!first || !tracees_has_ended(t))
			return t;
	}
	return NULL;
}

/*
 * A thread that has not stopped; NULL when all have. First threads come last: a thread that calls
 * execve() takes the first one's id, and we look for it under its own until then.
 */
static struct tracee *tracees_look(struct tracees *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct tracee *t = &all->items[i];

		if (!t->asleep && !t->stopped && !t->gone)
			tracees_look_at(t);
	}
	return tracees_missing(all, false) ?: tracees_missing(all, true);
}

static int tracees_refuse_late(struct tracees *all, const struct tracee *t)
{
	char state = stop_thread_state(all->pid, t->thread.tid);

	return refuse(
		all->reason, -ETIMEDOUT, "its thread %d did not stop within %.0f ms (state %c%s)",
		(int)t->thread.tid, (double)all->max_ns / NS_PER_MS, state ? state : '?',
		state == 'D' ? ", uninterruptible: it waits for a device or a vfork child, or "
			       "is frozen"
			     : "");
}

/* A thread that the older freezer holds stops only after the thaw. 0, or -EBUSY with the reason. */
static int tracees_refuse_frozen(struct tracees *all, const struct tracee *t)
{
	struct frozen frozen;

	if (!frozen_look(t->thread.tid, &frozen) || frozen.version != 1)
		return 0;
	can_run_refuse(&frozen, all->reason);
	return -EBUSY;
}

/*
 * A busy machine does not at once run a thread that runs without end, as one held at its end does:
 * we saw seconds. A killed tool leaves its scheduling changed, so only an ending process's
 * scheduling is changed.
 */
static void tracees_hurry(struct tracee *t)
{
	t->policy = sched_getscheduler(t->thread.tid);
	if (t->policy != SCHED_OTHER && t->policy != SCHED_BATCH && t->policy != SCHED_IDLE)
		return;
	if (sched_getparam(t->thread.tid, &t->param))
		return;
	t->hurried = !sched_setscheduler(t->thread.tid, SCHED_FIFO,
					 &(struct sched_param){.sched_priority = 1});
}

int tracees_stop(struct tracees *all)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct tracee *missing;
	int found, woken, looks = 0, err;

	do {
		/* If the look fails, all are stopped. */
		if (all->sleepers && all->sleepers->look(all->sleepers->ctx, all->pid, true,
							 tracees_leave_asleep, all))
			all->sleepers = NULL;
		found = tracees_seize_new(all);
		if (found < 0)
			return found;
		while ((missing = tracees_look(all)) != NULL) {
			if (all->is_late(all->ctx))
				return tracees_refuse_late(all, missing);
			err = ++looks == FROZEN_LOOKS ? tracees_refuse_frozen(all, missing) : 0;
			if (err)
				return err;
			if (all->ending && !missing->hurried)
				tracees_hurry(missing);
			nanosleep(&pause, NULL);
		}
		woken = tracees_undisturbed(all) ? 0 : tracees_seize_sleepers(all, !all->sleepers);
		if (woken < 0)
			return woken;
		/* Threads born before their parents stopped are there now. */
	} while (found || woken);
	return 0;
}

int tracees_read_registers(struct tracees *all)
{
	size_t live = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct tracee *t = &all->items[i];
		int err = t->gone ? -ESRCH : t->thread.words ? 0 : registers_read(&t->thread);

		if (err == -ENOMEM)
			return refuse(all->reason, err, "no memory for its registers");
		/* A thread that was killed meanwhile has no registers. */
		if (err)
			t->gone = true;
		live += !t->gone;
	}
	return live ? 0 : refuse(all->reason, -ESRCH, "it has ended");
}

void tracees_release(struct tracees *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct tracee *t = &all->items[i];

		/* A thread that has ended is buried, and its number may be a stranger's. */
		if (t->hurried && !t->gone)
			sched_setscheduler(t->thread.tid, t->policy, &t->param);
		if (t->stopped)
			ptrace(PTRACE_DETACH, t->thread.tid, NULL, (void *)(intptr_t)t->signal);
	}
}
