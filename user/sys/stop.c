// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All of it is done by a thread made for the purpose. A tracee that does not stop cannot be detached from, but when its tracer ends the kernel
 * lets go of it whatever its state (kernel/ptrace.c, exit_ptrace()): the thread's end is what releases everything for certain.
 *
 * Stops are looked at with WNOWAIT and never taken: a signal that has stopped a thread on its way to it is kept in the thread's exit code,
 * which waiting would clear. So it is delivered even if the tool dies before it can pass the signal on.
 */
#include "user/sys/stop.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/sys/forkcopy.h"
#include "user/sys/proc.h"

/* Between two looks at threads that have not stopped yet. */
#define LOOK_NS 20000

/* XSAVE areas with AMX tiles have 11 KiB; SVE at its longest vectors 8.5 KiB. */
#define VECTOR_MAX 16384

struct tracee {
	struct stop_thread thread;
	int signal; /* to be passed on when it is released; 0: none */
	bool stopped, gone;
	bool hurried; /* is run before others until it stands */
	int policy;   /* how it was scheduled before */
	struct sched_param param;
	bool asked; /* stopped because we asked for it, and for no other reason */
};

/* What the tracer is to do next. */
enum order {
	ORDER_RELEASE,
	ORDER_COPY,
	ORDER_END,
};

struct copy_order {
	const struct call_code *code;
	uint64_t deadline_ns;
	int err;
	char reason[FORKCOPY_REASON_MAX];
};
_Static_assert(FORKCOPY_REASON_MAX <= STOP_REASON_MAX, "a copy's reason fits");

struct stop {
	pid_t pid;
	uint64_t deadline_ns, start_ns, end_ns;
	struct tracee *tracees;
	size_t count, room;
	pthread_t tracer;
	bool ending;   /* the process is about to end, and threads may be hurried */
	bool running;  /* the tracer has to be joined */
	bool released; /* the process goes on */
	sem_t done, given;
	enum order order;
	struct copy_order copying;
	pid_t copy; /* 0: none */
	int err;
	char reason[STOP_REASON_MAX];
};

#define REFUSE(stop, err, ...)                                                 \
	({                                                                     \
		snprintf((stop)->reason, sizeof((stop)->reason), __VA_ARGS__); \
		(err);                                                         \
	})

/* ---- registers ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define VECTOR_NOTE NT_X86_XSTATE
static void take_pointers(struct stop_thread *t)
{
	const struct user_regs_struct *regs = (const void *)t->words;

	t->sp = regs->rsp;
	t->tls = regs->fs_base;
}
#elif defined(__aarch64__)
#define VECTOR_NOTE NT_PRFPREG
static void take_pointers(struct stop_thread *t)
{
	const struct user_regs_struct *regs = (const void *)t->words;
	struct iovec tls = {&t->tls, sizeof(t->tls)};

	t->sp = regs->sp;
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_ARM_TLS, &tls))
		t->tls = 0;
}
#else
#error "registers of this architecture are not known"
#endif

static int read_registers(struct stop_thread *t)
{
	uint64_t general[sizeof(struct user_regs_struct) / 8], vector[VECTOR_MAX / 8];
	struct iovec to = {general, sizeof(general)};
	size_t words;

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &to))
		return -errno;
	words = to.iov_len / 8;
	to = (struct iovec){vector, sizeof(vector)};
	if (ptrace(PTRACE_GETREGSET, t->tid, VECTOR_NOTE, &to))
		to.iov_len = 0;
	t->words = calloc(words + to.iov_len / 8 + 1, sizeof(*t->words));
	if (!t->words)
		return -ENOMEM;
	memcpy(t->words, general, words * 8);
	memcpy(t->words + words, vector, to.iov_len / 8 * 8);
	t->word_count = words + to.iov_len / 8;
	take_pointers(t);
	return 0;
}

/* ---- stopping ----------------------------------------------------------------------------- */

/* The state in /proc/PID/task/TID/stat, 0 when it is gone. */
static char thread_state(pid_t pid, pid_t tid)
{
	char path[64], line[512], *end;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	/* The name may hold anything, a parenthesis too. */
	end = strrchr(line, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* The process that traces it already, 0: none. */
static pid_t tracer_of(pid_t pid)
{
	_cleanup_free_ char *tracer = NULL;

	return proc_status_field(pid, "TracerPid", &tracer) ? 0 : (pid_t)strtol(tracer, NULL, 10);
}

static int yama_scope(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	return file && fscanf(file, "%d", &scope) == 1 ? scope : 0;
}

static int refuse_seize(struct stop *stop, int err)
{
	pid_t tracer = tracer_of(stop->pid);
	char comm[17] = "";

	if (err != EPERM && err != EACCES)
		return REFUSE(stop, -err, "it cannot be stopped: %s", strerror(err));
	if (tracer) {
		proc_comm(tracer, comm);
		return REFUSE(stop, -EPERM,
			      "process %d (%s) traces it already; let that detach first",
			      (int)tracer, comm);
	}
	if (yama_scope() == 3)
		return REFUSE(
			stop, -EPERM,
			"this machine forbids ptrace altogether (kernel.yama.ptrace_scope is 3 "
			"until the next boot)");
	return REFUSE(stop, -EPERM,
		      "ptrace is not permitted (another user namespace, or CAP_SYS_PTRACE is "
		      "missing); run as root in the host's namespaces");
}

static struct tracee *find_tracee(const struct stop *stop, pid_t tid)
{
	for (size_t i = 0; i < stop->count; i++) {
		if (stop->tracees[i].thread.tid == tid)
			return &stop->tracees[i];
	}
	return NULL;
}

/* 1: seized, 0: it is ending and need not be, -errno. */
static int seize(struct stop *stop, pid_t tid)
{
	char state;
	int err;

	if (stop->count == stop->room) {
		size_t room = stop->room ? 2 * stop->room : 64;
		struct tracee *grown = reallocarray(stop->tracees, room, sizeof(*grown));

		if (!grown)
			return REFUSE(stop, -ENOMEM, "no memory to stop it");
		stop->tracees = grown;
		stop->room = room;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		err = errno;
		state = thread_state(stop->pid, tid);
		if (err == ESRCH || !state || strchr("ZX", state))
			return 0;
		return refuse_seize(stop, err);
	}
	stop->tracees[stop->count++] = (struct tracee){.thread = {.tid = tid}};
	/* Fails only for a thread that is ending: then it will be found gone. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 1;
}

/* Seizes the threads that are not yet. How many there were, or -errno. */
static int seize_new(struct stop *stop)
{
	char path[64];
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)stop->pid);
	dir = opendir(path);
	if (!dir)
		return REFUSE(stop, -ESRCH, "it has ended");
	while (found >= 0 && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int one;

		if (tid <= 0 || find_tracee(stop, tid))
			continue;
		one = seize(stop, tid);
		found = one < 0 ? one : found + one;
	}
	closedir(dir);
	return found;
}

/* Has it stopped? Any stop will do: the one we asked for, a group stop, a signal on its way. */
static void look_at(struct tracee *t)
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
static struct tracee *look(struct stop *stop)
{
	struct tracee *missing = NULL;

	for (size_t i = 0; i < stop->count; i++) {
		struct tracee *t = &stop->tracees[i];

		if (!t->stopped && !t->gone)
			look_at(t);
		if (!t->stopped && !t->gone && !missing)
			missing = t;
	}
	return missing;
}

static int refuse_late(struct stop *stop, const struct tracee *t)
{
	char state = thread_state(stop->pid, t->thread.tid);

	return REFUSE(stop, -ETIMEDOUT, "its thread %d did not stop within %.0f ms (state %c%s)",
		      (int)t->thread.tid, (double)stop->deadline_ns / 1e6, state ? state : '?',
		      state == 'D'
			      ? ", uninterruptible: it waits for a device, or for a vfork child"
			      : "");
}

/*
 * A thread that runs without end, as one that is held at its end does, is not run again at once on a busy machine: seconds were seen. Only of a process that is ending
 * the scheduling may be changed, which a tool that is killed leaves changed.
 */
static void hurry(struct tracee *t)
{
	t->policy = sched_getscheduler(t->thread.tid);
	if (t->policy != SCHED_OTHER && t->policy != SCHED_BATCH && t->policy != SCHED_IDLE)
		return;
	if (sched_getparam(t->thread.tid, &t->param))
		return;
	t->hurried = !sched_setscheduler(t->thread.tid, SCHED_FIFO,
					 &(struct sched_param){.sched_priority = 1});
}

static int stop_all(struct stop *stop)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct tracee *missing;
	int found;

	do {
		found = seize_new(stop);
		if (found < 0)
			return found;
		while ((missing = look(stop)) != NULL) {
			if (monotonic_ns() - stop->start_ns > stop->deadline_ns)
				return refuse_late(stop, missing);
			if (stop->ending && !missing->hurried)
				hurry(missing);
			nanosleep(&pause, NULL);
		}
		/* Threads that were born before their parents stopped are there now. */
	} while (found);
	return 0;
}

static int read_all_registers(struct stop *stop)
{
	size_t live = 0;

	for (size_t i = 0; i < stop->count; i++) {
		struct tracee *t = &stop->tracees[i];
		int err = t->gone ? -ESRCH : read_registers(&t->thread);

		if (err == -ENOMEM)
			return REFUSE(stop, err, "no memory for its registers");
		/* A thread that was killed meanwhile has none. */
		if (err)
			t->gone = true;
		live += !t->gone;
	}
	return live ? 0 : REFUSE(stop, -ESRCH, "it has ended");
}

/* ---- the tracer --------------------------------------------------------------------------- */

void stop_run_first(bool first)
{
	const struct sched_param param = {.sched_priority = first};

	pthread_setschedparam(pthread_self(), first ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void release_all(struct stop *stop)
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

static void make_copy(struct stop *stop)
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
	/* Where it did not come through, a thread may stand in another stop now: a signal that it is in is passed on. */
	for (size_t i = 0; order->err && i < stop->count; i++) {
		if (stop->tracees[i].asked && !stop->tracees[i].gone)
			look_at(&stop->tracees[i]);
	}
}

static enum order next_order(struct stop *stop)
{
	while (sem_wait(&stop->given))
		;
	return stop->order;
}

static void *trace_threads(void *arg)
{
	struct stop *stop = arg;

	/* Released threads must not keep us from releasing the others: 200 busy ones take 187 ms otherwise, and 0.3 ms so. */
	stop_run_first(true);
	stop->start_ns = monotonic_ns();
	stop->err = stop_all(stop);
	if (!stop->err)
		stop->err = read_all_registers(stop);
	if (stop->err) {
		release_all(stop);
		sem_post(&stop->done);
		return NULL;
	}
	for (;;) {
		sem_post(&stop->done);
		switch (next_order(stop)) {
		case ORDER_COPY:
			make_copy(stop);
			break;
		case ORDER_RELEASE:
			release_all(stop);
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

static void give(struct stop *stop, enum order order)
{
	stop->order = order;
	sem_post(&stop->given);
	while (sem_wait(&stop->done))
		;
}

static int begin(pid_t pid, uint64_t deadline_ns, bool ending, struct stop **out,
		 char reason[static STOP_REASON_MAX])
{
	struct stop *stop = calloc(1, sizeof(*stop));
	int err;

	snprintf(reason, STOP_REASON_MAX, "no memory to stop it");
	if (!stop)
		return -ENOMEM;
	stop->pid = pid;
	stop->ending = ending;
	stop->deadline_ns = deadline_ns;
	sem_init(&stop->done, 0, 0);
	sem_init(&stop->given, 0, 0);
	err = -pthread_create(&stop->tracer, NULL, trace_threads, stop);
	if (!err) {
		stop->running = true;
		while (sem_wait(&stop->done))
			;
		err = stop->err;
		stop->released = err != 0;
		memcpy(reason, stop->reason, STOP_REASON_MAX);
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

int stop_begin(pid_t pid, uint64_t deadline_ns, struct stop **out,
	       char reason[static STOP_REASON_MAX])
{
	return begin(pid, deadline_ns, false, out, reason);
}

int stop_begin_ending(pid_t pid, uint64_t deadline_ns, struct stop **out,
		      char reason[static STOP_REASON_MAX])
{
	return begin(pid, deadline_ns, true, out, reason);
}

int stop_copy(struct stop *stop, const struct call_code *code, uint64_t deadline_ns, pid_t *copy,
	      char reason[static STOP_REASON_MAX])
{
	stop->copying = (struct copy_order){.code = code, .deadline_ns = deadline_ns};
	give(stop, ORDER_COPY);
	memcpy(reason, stop->copying.reason, FORKCOPY_REASON_MAX);
	*copy = stop->copy;
	return stop->copying.err;
}

uint64_t stop_end(struct stop *stop)
{
	if (stop->running && !stop->released)
		give(stop, ORDER_RELEASE);
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
