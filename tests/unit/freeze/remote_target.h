/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes that keep books of their own on what happens to them, for tests of what is done to a
 * running process.
 */
#ifndef MEMLEAKBPF_TESTS_REMOTE_TARGET_H
#define MEMLEAKBPF_TESTS_REMOTE_TARGET_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>

#include "tests/unit/freeze/registers_kept.h"
#include "tests/unit/open_descriptors.h"
#include "user/base/clock.h"
#include "user/gate/stub_layout.h"

#define NAP_NS (5 * NS_PER_MS)

/* Shared with the target. */
struct books {
	uint64_t turns, register_turns, waits, signals;
	uint64_t bad_registers, bad_vectors, bad_calls;
	uint32_t never; /* a futex nobody wakes */
};

static struct books *books;
static pid_t target;
static int never[2];  /* a pipe that nobody writes to */
static int no_events; /* an epoll without any; all is opened before a thread is, to be counted */

static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&books->signals, 1, __ATOMIC_RELAXED);
}

/* ---- what its threads do ------------------------------------------------------------------ */

static inline void *compute(void *arg)
{
	for (;;) {
		uint64_t bad, bad_vector;

		registers_changed(&bad, &bad_vector);
		books->bad_registers += bad != 0;
		books->bad_vectors += bad_vector != 0;
		__atomic_add_fetch(&books->register_turns, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static inline void *turn(void *arg)
{
	for (;;)
		__atomic_add_fetch(&books->turns, 1, __ATOMIC_RELAXED);
	return arg;
}

/* A call that waits for NAP_NS, and must not be shorter. `early`: errno that any stop gives it. */
static inline void expect_nap(int (*call)(void), int wanted, int early)
{
	uint64_t start = monotonic_ns();
	int got = call();

	if (got != early && (got != wanted || monotonic_ns() - start < NAP_NS))
		books->bad_calls++;
	__atomic_add_fetch(&books->waits, 1, __ATOMIC_RELAXED);
}

static inline int nap_nanosleep(void)
{
	return nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL) ? errno : 0;
}

static inline int nap_futex(void)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	return syscall(SYS_futex, &books->never, FUTEX_WAIT, 0, &nap, NULL, 0) ? errno : 0;
}

static inline int nap_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(no_events, &event, 1, NAP_NS / NS_PER_MS) < 0 ? errno : 0;
}

static inline int nap_sigtimedwait(void)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &nap) < 0 ? errno : 0;
}

static inline void *nanosleeper(void *arg)
{
	for (;;)
		expect_nap(nap_nanosleep, 0, 0);
	return arg;
}

static inline void *futex_waiter(void *arg)
{
	for (;;)
		expect_nap(nap_futex, ETIMEDOUT, ETIMEDOUT);
	return arg;
}

static inline void *epoll_waiter(void *arg)
{
	for (;;)
		expect_nap(nap_epoll, 0, EINTR);
	return arg;
}

static inline void *signal_waiter(void *arg)
{
	for (;;)
		expect_nap(nap_sigtimedwait, EAGAIN, EINTR);
	return arg;
}

/* Waits for good. */
static inline void *reader(void *arg)
{
	char c;

	if (read(never[0], &c, 1) != 1)
		books->bad_calls++;
	return arg;
}

static inline void *futex_forever(void *arg)
{
	syscall(SYS_futex, &books->never, FUTEX_WAIT, 0, NULL, NULL, 0);
	books->bad_calls++;
	return arg;
}

static inline void *strict(void *arg)
{
	/* read, write, _exit and sigreturn, and death for any other. */
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	return turn(arg);
}

/* This thread's call of that number is the process's end from now on; with SECCOMP_FILTER_FLAG_TSYNC all threads'. */
static inline bool kill_for(unsigned number, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static inline void *kills_for_memfd(void *arg)
{
	return kill_for(SYS_memfd_create, 0) ? nanosleeper(arg) : arg;
}

static inline void start_thread(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
}

/* All of them: that of main() waits as well, or is as busy as others. */
static inline void *in_company(void *arg)
{
	void *(*const all[])(void *) = {compute,      turn,	     nanosleeper, futex_waiter,
					epoll_waiter, signal_waiter, reader,	  futex_forever};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		start_thread(all[i]);
	return nanosleeper(arg);
}

/* ---- from outside ------------------------------------------------------------------------- */

static inline void target_start(void *(*run)(void *))
{
	memset(books, 0, sizeof(*books));
	target = fork();
	if (target)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	signal(SIGUSR1, count_signal);
	no_events = epoll_create1(0);
	if (no_events < 0 || pipe(never))
		_exit(1);
	run(NULL);
	_exit(1);
}

static inline void target_end(void)
{
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	target = 0;
}

static inline bool moves(const uint64_t *counter)
{
	uint64_t before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	for (int tries = 0; tries < 20000; tries++) {
		if (__atomic_load_n(counter, __ATOMIC_RELAXED) > before + 1)
			return true;
		usleep(500);
	}
	return false;
}

static inline bool all_move(void)
{
	return moves(&books->turns) && moves(&books->register_turns) && moves(&books->waits);
}

/* A number of /proc/PID/task/TID/status, summed up over the threads. */
static inline long in_status(const char *format)
{
	char path[300], line[256];
	struct dirent *entry;
	long sum = 0, one;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)target);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)target, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, format, &one) == 1)
				sum += one;
		}
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* Not traced, by no thread; for what is let go by the end of a process, a moment later. */
static inline bool nobody_traces(void)
{
	for (int tries = 0; tries < 5000; tries++) {
		if (!in_status("TracerPid: %ld"))
			return true;
		usleep(1000);
	}
	return false;
}

/* How many descriptors it has open. */
static inline int open_descriptors(void)
{
	return open_descriptors_of(target);
}

/* It may do that by itself, when it has gone on. */
static inline bool has_closed_to(int count)
{
	for (int tries = 0; tries < 5000 && open_descriptors() != count; tries++)
		usleep(1000);
	return open_descriptors() == count;
}

static inline bool books_open(void)
{
	books = mmap(NULL, sizeof(*books), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	return books != MAP_FAILED;
}

#endif
