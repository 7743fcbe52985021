// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All of it is done by a thread made for the purpose. A tracee that does not stop cannot be
 * detached from, but when its tracer ends the kernel lets go of it whatever its state
 * (kernel/ptrace.c, exit_ptrace()): the thread's end is what releases everything for certain.
 *
 * Stops are looked at with WNOWAIT and never taken: a signal that has stopped a thread on its way
 * to it is kept in the thread's exit code, which waiting would clear. So it is delivered even if
 * the tool dies before it can pass the signal on.
 */
#include "user/freeze/stop.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/sleepers_abi.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/registers.h"
#include "user/freeze/stop_refused.h"

/* Between two looks at threads that have not stopped yet. */
#define LOOK_NS 20000

struct tracee {
	struct stop_thread thread;
	int signal; /* to be passed on when it is released; 0: none */
	bool stopped, gone;
	bool hurried; /* is run before others until it stands */
	int policy;   /* how it was scheduled before */
	struct sched_param param;
	bool asked;  /* stopped because we asked for it, and for no other reason */
	bool asleep; /* left alone; not traced */
	bool seen;   /* still asleep, at the last look */
	uint64_t switches;
};

/* What the tracer is to do next. */
enum order {
	ORDER_RELEASE,
	ORDER_STOP_SLEEPERS,
	ORDER_COPY,
	ORDER_END,
};

struct copy_order {
	const struct call_code *code;
	uint64_t deadline_ns;
	int err;
	char reason[REASON_MAX];
};

struct stop {
	pid_t pid;
	uint64_t max_ns; /* that stopping the threads may take */
	uint64_t start_ns, end_ns;
	uint64_t begun_ns;		      /* of the threads that are being stopped now */
	const struct stop_sleepers *sleepers; /* NULL: all are stopped */
	struct registers_layout layout;
	struct tracee *tracees;
	size_t count, room;
	size_t found; /* where the last thread was found: the next one is often behind it */
	pthread_t tracer;
	bool ending;   /* the process is about to end, and threads may be hurried */
	bool running;  /* the tracer has to be joined */
	bool released; /* the process goes on */
	sem_t done, given;
	enum order order;
	struct copy_order copying;
	pid_t copy; /* 0: none */
	int err;
	char reason[REASON_MAX];
};

/* ---- stopping ----------------------------------------------------------------------------- */

static struct tracee *stop_find_tracee(struct stop *stop, pid_t tid)
{
	for (size_t i = 0; i < stop->count; i++) {
		size_t at = (stop->found + 1 + i) % stop->count;

		if (stop->tracees[at].thread.tid == tid) {
			stop->found = at;
			return &stop->tracees[at];
		}
	}
	return NULL;
}

static struct tracee *stop_add_tracee(struct stop *stop, pid_t tid)
{
	if (!RESERVE_ITEM(stop->tracees, stop->count, stop->room, 64))
		return NULL;
	stop->tracees[stop->count] = (struct tracee){.thread = {.tid = tid}};
	return &stop->tracees[stop->count++];
}

/* 1: seized, 0: it is ending and need not be, -errno. */
static int stop_seize(struct stop *stop, pid_t tid)
{
	char state;
	int err;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		err = errno;
		state = stop_thread_state(stop->pid, tid);
		if (err == ESRCH || !state || strchr("ZX", state))
			return 0;
		return stop_explain(stop->pid, err, stop->reason);
	}
	/* Fails only for a thread that is ending: then it will be found gone. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 1;
}

static int stop_seize_one(struct stop *stop, pid_t tid)
{
	int one;

	if (!stop_add_tracee(stop, tid))
		return refuse(stop->reason, -ENOMEM, "no memory to stop it");
	one = stop_seize(stop, tid);
	if (one <= 0)
		stop->count--;
	return one;
}

/* Seizes the threads that are not yet. How many there were, or -errno. */
static int stop_seize_new(struct stop *stop)
{
	char path[64];
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)stop->pid);
	dir = opendir(path);
	if (!dir)
		return refuse(stop->reason, -ESRCH, "it has ended");
	while (found >= 0 && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int one;

		if (tid <= 0 || stop_find_tracee(stop, tid))
			continue;
		one = stop_seize_one(stop, tid);
		found = one < 0 ? one : found + one;
	}
	closedir(dir);
	return found;
}

/* ---- those that are left asleep ------------------------------------------------------------ */

static int stop_leave_asleep(void *ctx, const struct sleeper *sleeper)
{
	struct stop *stop = ctx;
	struct tracee *t;

	if (stop_find_tracee(stop, (pid_t)sleeper->tid))
		return 0;
	t = stop_add_tracee(stop, (pid_t)sleeper->tid);
	if (!t)
		return -ENOMEM;
	t->asleep = true;
	t->switches = sleeper->switches;
	return registers_of_sleeper(&t->thread, sleeper, &stop->layout);
}

static int stop_mark_sleeper(void *ctx, const struct sleeper *sleeper)
{
	struct tracee *t = stop_find_tracee(ctx, (pid_t)sleeper->tid);

	if (t && t->switches == sleeper->switches)
		t->seen = true;
	return 0;
}

size_t stop_asleep_count(const struct stop *stop)
{
	size_t n = 0;

	for (size_t i = 0; i < stop->count; i++)
		n += stop->tracees[i].asleep;
	return n;
}

bool stop_undisturbed(struct stop *stop)
{
	size_t awake = 0;

	if (!stop_asleep_count(stop))
		return true;
	for (size_t i = 0; i < stop->count; i++)
		stop->tracees[i].seen = false;
	if (!stop->sleepers ||
	    stop->sleepers->look(stop->sleepers->ctx, stop->pid, false, stop_mark_sleeper, stop))
		return false;
	for (size_t i = 0; i < stop->count; i++)
		awake += stop->tracees[i].asleep && !stop->tracees[i].seen;
	return !awake;
}

/*
 * Seizes those that were left asleep; not the ones that still are, unless `all`. How many, or
 * -errno.
 */
static int stop_seize_sleepers(struct stop *stop, bool all)
{
	int seized = 0;

	for (size_t i = 0; i < stop->count; i++) {
		struct tracee *t = &stop->tracees[i];
		int one;

		if (!t->asleep || (t->seen && !all))
			continue;
		t->asleep = false;
		free(t->thread.words);
		t->thread = (struct stop_thread){.tid = t->thread.tid};
		one = stop_seize(stop, t->thread.tid);
		if (one < 0)
			return one;
		t->gone = !one;
		seized++;
	}
	return seized;
}

/* ---- waiting for them ---------------------------------------------------------------------- */

/* Has it stopped? Any stop will do: the one we asked for, a group stop, a signal on its way. */
static void stop_look_at(struct tracee *t)
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
		return;
	}
	event = info.si_status >> 8;
	signal = info.si_status & 0x7f;
	t->stopped = true;
	t->asked = event == PTRACE_EVENT_STOP && signal == SIGTRAP;
	/* Bit 7: a system call's beginning or end, of a copy that did not come through. */
	t->signal = event || info.si_status & 0x80 ? 0 : signal;
}

/* The first thread that has not stopped; NULL when all have. */
static struct tracee *stop_look(struct stop *stop)
{
	struct tracee *missing = NULL;

	for (size_t i = 0; i < stop->count; i++) {
		struct tracee *t = &stop->tracees[i];

		if (t->asleep)
			continue;
		if (!t->stopped && !t->gone)
			stop_look_at(t);
		if (!t->stopped && !t->gone && !missing)
			missing = t;
	}
	return missing;
}

static int stop_refuse_late(struct stop *stop, const struct tracee *t)
{
	char state = stop_thread_state(stop->pid, t->thread.tid);

	return refuse(
		stop->reason, -ETIMEDOUT, "its thread %d did not stop within %.0f ms (state %c%s)",
		(int)t->thread.tid, (double)stop->max_ns / NS_PER_MS, state ? state : '?',
		state == 'D' ? ", uninterruptible: it waits for a device or a vfork child, or "
			       "is frozen"
			     : "");
}

/*
 * A thread that runs without end, as one that is held at its end does, is not run again at once on
 * a busy machine: seconds were seen. Only of a process that is ending the scheduling may be
 * changed, which a tool that is killed leaves changed.
 */
static void stop_hurry(struct tracee *t)
{
	t->policy = sched_getscheduler(t->thread.tid);
	if (t->policy != SCHED_OTHER && t->policy != SCHED_BATCH && t->policy != SCHED_IDLE)
		return;
	if (sched_getparam(t->thread.tid, &t->param))
		return;
	t->hurried = !sched_setscheduler(t->thread.tid, SCHED_FIFO,
					 &(struct sched_param){.sched_priority = 1});
}

static int stop_all_threads(struct stop *stop)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct tracee *missing;
	int found, woken;

	stop->begun_ns = monotonic_ns();
	do {
		/* Where it cannot be told, all are stopped. */
		if (stop->sleepers && stop->sleepers->look(stop->sleepers->ctx, stop->pid, true,
							   stop_leave_asleep, stop))
			stop->sleepers = NULL;
		found = stop_seize_new(stop);
		if (found < 0)
			return found;
		while ((missing = stop_look(stop)) != NULL) {
			if (monotonic_ns() - stop->begun_ns > stop->max_ns)
				return stop_refuse_late(stop, missing);
			if (stop->ending && !missing->hurried)
				stop_hurry(missing);
			nanosleep(&pause, NULL);
		}
		woken = stop_undisturbed(stop) ? 0 : stop_seize_sleepers(stop, !stop->sleepers);
		if (woken < 0)
			return woken;
		/* Threads that were born before their parents stopped are there now. */
	} while (found || woken);
	return 0;
}

static int stop_read_all_registers(struct stop *stop)
{
	size_t live = 0;

	for (size_t i = 0; i < stop->count; i++) {
		struct tracee *t = &stop->tracees[i];
		int err = t->gone ? -ESRCH : t->thread.words ? 0 : registers_read(&t->thread);

		if (err == -ENOMEM)
			return refuse(stop->reason, err, "no memory for its registers");
		/* A thread that was killed meanwhile has none. */
		if (err)
			t->gone = true;
		live += !t->gone;
	}
	return live ? 0 : refuse(stop->reason, -ESRCH, "it has ended");
}

/* ---- the tracer --------------------------------------------------------------------------- */

void stop_run_first(bool first)
{
	const struct sched_param param = {.sched_priority = first};

	pthread_setschedparam(pthread_self(), first ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void stop_release_all(struct stop *stop)
{
	for (size_t i = 0; i < stop->count; i++) {
		const struct tracee *t = &stop->tracees[i];

		if (t->hurried)
			sched_setscheduler(t->thread.tid, t->policy, &t->param);
		if (t->stopped)
			ptrace(PTRACE_DETACH, t->thread.tid, NULL, (void *)(intptr_t)t->signal);
	}
	stop->end_ns = monotonic_ns();
}

static void stop_make_copy(struct stop *stop)
{
	_cleanup_free_ struct forkcopy_thread *threads = calloc(stop->count, sizeof(*threads));
	struct copy_order *order = &stop->copying;
	size_t n = 0;

	for (size_t i = 0; threads && i < stop->count; i++) {
		const struct tracee *t = &stop->tracees[i];

		if (!t->asked || t->gone)
			continue;
		threads[n].tid = t->thread.tid;
		threads[n].tls = t->thread.tls;
		memcpy(&threads[n].registers, t->thread.words, sizeof(threads[n].registers));
		n++;
	}
	order->err = forkcopy_make(stop->pid, order->code, threads, n, order->deadline_ns,
				   &stop->copy, order->reason);
	/*
	 * Where it did not come through, a thread may stand in another stop now: a signal that it
	 * is in is passed on.
	 */
	for (size_t i = 0; order->err && i < stop->count; i++) {
		if (stop->tracees[i].asked && !stop->tracees[i].gone)
			stop_look_at(&stop->tracees[i]);
	}
}

static enum order stop_next_order(struct stop *stop)
{
	while (sem_wait(&stop->given))
		;
	return stop->order;
}

static void *stop_trace_threads(void *arg)
{
	struct stop *stop = arg;

	/*
	 * Released threads must not keep us from releasing the others: 200 busy ones take 187 ms
	 * otherwise, and 0.3 ms so.
	 */
	stop_run_first(true);
	stop->start_ns = monotonic_ns();
	stop->err = stop_all_threads(stop);
	if (!stop->err)
		stop->err = stop_read_all_registers(stop);
	if (stop->err) {
		stop_release_all(stop);
		sem_post(&stop->done);
		return NULL;
	}
	for (;;) {
		sem_post(&stop->done);
		switch (stop_next_order(stop)) {
		case ORDER_STOP_SLEEPERS:
			stop->sleepers = NULL;
			stop->err = stop_all_threads(stop);
			if (!stop->err)
				stop->err = stop_read_all_registers(stop);
			break;
		case ORDER_COPY:
			stop_make_copy(stop);
			break;
		case ORDER_RELEASE:
			stop_release_all(stop);
			if (!stop->copy) {
				sem_post(&stop->done);
				return NULL;
			}
			/* What is left to do is no matter of the process's. */
			stop_run_first(false);
			break;
		case ORDER_END:
			forkcopy_end(stop->copy);
			return NULL;
		}
	}
}

static void stop_give_order(struct stop *stop, enum order order)
{
	stop->order = order;
	sem_post(&stop->given);
	while (sem_wait(&stop->done))
		;
}

static int stop_begin_any(pid_t pid, uint64_t max_ns, const struct stop_sleepers *sleepers,
			  bool ending, struct stop **out, char reason[static REASON_MAX])
{
	struct stop *stop = calloc(1, sizeof(*stop));
	int err;

	if (!stop)
		return refuse(reason, -ENOMEM, "no memory to stop it");
	stop->pid = pid;
	stop->ending = ending;
	stop->sleepers = sleepers;
	if (sleepers)
		registers_layout(&stop->layout);
	stop->max_ns = max_ns;
	sem_init(&stop->done, 0, 0);
	sem_init(&stop->given, 0, 0);
	err = -pthread_create(&stop->tracer, NULL, stop_trace_threads, stop);
	if (!err) {
		stop->running = true;
		while (sem_wait(&stop->done))
			;
		err = stop->err;
		stop->released = err != 0;
		memcpy(reason, stop->reason, REASON_MAX);
	} else {
		refuse(reason, err, "no memory to stop it");
	}
	if (err) {
		stop_free(stop);
		return err;
	}
	*out = stop;
	return 0;
}

size_t stop_thread_count(const struct stop *stop)
{
	return stop->count;
}

const struct stop_thread *stop_thread_at(const struct stop *stop, size_t index)
{
	return index < stop->count ? &stop->tracees[index].thread : NULL;
}

uint64_t stop_start_ns(const struct stop *stop)
{
	return stop->start_ns;
}

int stop_begin(pid_t pid, uint64_t max_ns, const struct stop_sleepers *sleepers, struct stop **out,
	       char reason[static REASON_MAX])
{
	return stop_begin_any(pid, max_ns, sleepers, false, out, reason);
}

int stop_begin_ending(pid_t pid, uint64_t max_ns, struct stop **out, char reason[static REASON_MAX])
{
	return stop_begin_any(pid, max_ns, NULL, true, out, reason);
}

int stop_sleepers_too(struct stop *stop, char reason[static REASON_MAX])
{
	stop_give_order(stop, ORDER_STOP_SLEEPERS);
	memcpy(reason, stop->reason, REASON_MAX);
	return stop->err;
}

int stop_copy(struct stop *stop, const struct call_code *code, uint64_t deadline_ns, pid_t *copy,
	      char reason[static REASON_MAX])
{
	stop->copying = (struct copy_order){.code = code, .deadline_ns = deadline_ns};
	stop_give_order(stop, ORDER_COPY);
	memcpy(reason, stop->copying.reason, REASON_MAX);
	*copy = stop->copy;
	return stop->copying.err;
}

uint64_t stop_end(struct stop *stop)
{
	if (stop->running && !stop->released)
		stop_give_order(stop, ORDER_RELEASE);
	stop->released = true;
	/* The end of its tracer lets go of a thread in whatever state; the copy's must stay. */
	if (stop->running && !stop->copy) {
		pthread_join(stop->tracer, NULL);
		stop->running = false;
	}
	return stop->end_ns - stop->start_ns;
}

void stop_free(struct stop *stop)
{
	if (!stop)
		return;
	stop_end(stop);
	if (stop->running) {
		stop->order = ORDER_END;
		sem_post(&stop->given);
		pthread_join(stop->tracer, NULL);
	}
	for (size_t i = 0; i < stop->count; i++)
		free(stop->tracees[i].thread.words);
	free(stop->tracees);
	sem_destroy(&stop->done);
	sem_destroy(&stop->given);
	free(stop);
}
