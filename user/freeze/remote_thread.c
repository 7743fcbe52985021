// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/remote_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/cut_short.h"
#include "user/freeze/registers.h"
#include "user/freeze/stop_refused.h"
#include "user/process/proc.h"

/* Linux 4.3; linux/ptrace.h */
#define SUSPEND_SECCOMP (1 << 21)

#define CANDIDATES_MAX 256
#define TRIES_MAX      32
#define SLICES	       4 /* one of several threads may take such a part of the time to stop */

/* The best first. A filter is worse than all others. */
enum {
	RANK_WAITS,	/* in a call that is restarted, if it must be */
	RANK_RUNS,	/* or cannot be told */
	RANK_REMEMBERS, /* in a sleep that would begin anew if the child were killed */
	RANK_CUT_SHORT,
	RANK_FILTERED,
};

struct remote_candidate {
	pid_t tid;
	int rank;
};

/* ---- before anything is stopped ------------------------------------------------------------ */

/* Ranks a thread by the call that it is in: proc_pid_syscall(5). */
static int remote_thread_rank(pid_t tid)
{
	unsigned long long arguments[4] = {0};
	_cleanup_fclose_ FILE *file = NULL;
	const uint16_t *cut_short;
	char path[64];
	size_t count;
	long number;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%ld %llx %llx %llx %llx", &number, &arguments[0], &arguments[1],
			    &arguments[2], &arguments[3]) < 5)
		return RANK_RUNS;
	cut_short = cut_short_calls(&count);
	for (size_t i = 0; i < count; i++) {
		if (number == cut_short[i])
			return RANK_CUT_SHORT;
	}
	switch (number) {
	case SYS_futex:
		return arguments[3] ? RANK_REMEMBERS : RANK_WAITS;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
		return RANK_REMEMBERS;
	}
	return number >= 0 ? RANK_WAITS : RANK_RUNS;
}

static int remote_thread_compare(const void *a, const void *b)
{
	const struct remote_candidate *x = a, *y = b;

	/* The main thread has the smallest number, unless the machine's numbers began anew. */
	return x->rank != y->rank ? x->rank - y->rank : (x->tid > y->tid) - (x->tid < y->tid);
}

struct remote_candidates {
	pid_t pid, only;
	struct remote_candidate items[CANDIDATES_MAX];
	size_t count;
	char *reason;
};

static int remote_thread_visit(void *ctx, pid_t tid)
{
	struct remote_candidates *all = ctx;
	char state = stop_thread_state(all->pid, tid);

	if (!state || strchr("ZX", state) || all->count == CANDIDATES_MAX ||
	    (all->only && tid != all->only))
		return 0;
	if (proc_status_number(tid, "TracerPid", 0))
		return stop_explain(tid, EPERM, all->reason);
	/* Uninterruptible: to wait for it would be to wait for a device. */
	if (state == 'D')
		return 0;
	all->items[all->count].tid = tid;
	all->items[all->count++].rank = remote_thread_rank(tid) +
					(proc_status_number(tid, "Seccomp", 0) ? RANK_FILTERED : 0);
	return 0;
}

/* Fills the list. 0, or -errno with the reason. */
static int remote_thread_list(struct remote_candidates *all)
{
	int err = proc_each_thread(all->pid, remote_thread_visit, all);

	qsort(all->items, all->count, sizeof(*all->items), remote_thread_compare);
	return err == -ESRCH ? refuse(all->reason, err, "it has ended") : err;
}

/* ---- one of them --------------------------------------------------------------------------- */

/* Takes the thread into the stop that we ask for; passes a signal on its way on. */
static int remote_thread_stop(pid_t tid, uint64_t deadline_ns, char reason[static REASON_MAX])
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH ? refuse(reason, -ESRCH, "it has ended")
				      : stop_explain(tid, errno, reason);
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	for (;;) {
		int stop = call_thread_next_stop(tid, deadline_ns);

		if (stop == STOP_ASKED)
			return 0;
		if (stop == -ETIMEDOUT)
			return refuse(reason, stop, "its thread %d does not stop", (int)tid);
		if (stop < 0)
			return refuse(reason, -ESRCH, "it has ended");
		if (stop >> 8)
			return refuse(reason, -EBUSY, "it is stopped anyway");
		ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(stop & 0x7f));
	}
}

/*
 * Suspends filters even if the thread has none yet: another thread may set one for all
 * (SECCOMP_FILTER_FLAG_TSYNC).
 */
static int remote_thread_suspend(struct remote_thread *out, char reason[static REASON_MAX])
{
	pid_t tid = out->thread.tid;
	int err;

	out->filtered = proc_status_number(tid, "Seccomp", 0) != 0;
	if (!ptrace(PTRACE_SETOPTIONS, tid, NULL, PTRACE_O_TRACESYSGOOD | SUSPEND_SECCOMP))
		return 0;
	err = -errno;
	if (!out->filtered)
		return ptrace(PTRACE_SETOPTIONS, tid, NULL, PTRACE_O_TRACESYSGOOD)
			       ? refuse(reason, -errno, "it cannot be traced: %s", strerror(errno))
			       : 0;
	if (err == -EINVAL)
		return refuse(reason, -EPERM,
			      "a seccomp filter watches its system calls, which this kernel cannot "
			      "suspend (CONFIG_CHECKPOINT_RESTORE)");
	return refuse(reason, -EPERM,
		      "a seccomp filter watches its system calls, which only a tool with "
		      "CAP_SYS_ADMIN may suspend that has none itself");
}

static int remote_thread_try(pid_t tid, const struct maps *maps, size_t size, uint64_t deadline_ns,
			     struct remote_thread *out, char reason[static REASON_MAX])
{
	struct stop_thread registers = {.tid = tid};
	int err;

	err = remote_thread_stop(tid, deadline_ns, reason);
	/* Until now it ran, or waited for its turn as always. */
	out->start_ns = monotonic_ns();
	if (err && err != -EBUSY)
		return err;
	if (!err && registers_read(&registers))
		err = refuse(reason, -ESRCH, "it has ended");
	if (!err) {
		out->thread = (struct call_thread){.tid = tid, .tls = registers.tls};
		memcpy(&out->thread.registers, registers.words, sizeof(out->thread.registers));
		err = call_thread_check(tid, maps, &out->thread, size, reason);
	}
	free(registers.words);
	err = err ?: remote_thread_suspend(out, reason);
	if (err)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return err;
}

static bool remote_thread_lives(pid_t pid, pid_t tid)
{
	char state = tid ? stop_thread_state(pid, tid) : 0;

	return state && !strchr("ZX", state);
}

int remote_thread_take(pid_t pid, pid_t only, const struct maps *maps, size_t size,
		       uint64_t deadline_ns, struct remote_thread *out,
		       char reason[static REASON_MAX])
{
	struct remote_candidates all = {.pid = pid, .reason = reason};
	bool late = false;
	int err;

	if (remote_thread_lives(pid, only))
		all.only = only;
	err = remote_thread_list(&all);
	if (err)
		return err;
	err = -EBUSY;
	*reason = '\0';
	for (size_t i = 0; err && i < all.count && i < TRIES_MAX; i++) {
		unsigned slices = all.count > 1 ? SLICES : 1;
		uint64_t now = monotonic_ns();
		char why[REASON_MAX] = "";
		int one;

		if (now >= deadline_ns)
			break;
		/* A frozen thread would stop, under the newer freezer, and make no call. */
		one = can_run_check_thread(all.items[i].tid, why)
			      ?: remote_thread_try(all.items[i].tid, maps, size,
						   now + (deadline_ns - now) / slices, out, why);
		late |= one == -ETIMEDOUT;
		/* The reason says why the best thread would not do. */
		if (!one || !*reason) {
			err = one;
			memcpy(reason, why, REASON_MAX);
		}
	}
	out->alone = !late;
	if (!err || *reason)
		return err;
	/* The thread waits for a device, perhaps in that call. */
	return all.only ? refuse(reason, -ETIMEDOUT, "its thread %d does not stop", (int)only)
			: refuse(reason, -EBUSY, "none of its threads can be stopped");
}
