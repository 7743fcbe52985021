/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that wait for what never comes, for threads that are to be found asleep. Each
 * returns what the system call returned. The caller is in an IPC namespace of its own: System V
 * objects outlive their process, but not that.
 */
#ifndef MEMLEAKBPF_TESTS_WAITS_H
#define MEMLEAKBPF_TESTS_WAITS_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The state letter of a thread in /proc: 'S' asleep, 't' stopped by ptrace; '?': there is none. */
static inline char thread_state(pid_t pid, pid_t tid)
{
	char path[64], line[512], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file) && strrchr(line, ')'))
		state = strrchr(line, ')')[2];
	if (file)
		fclose(file);
	return state;
}

static inline long wait_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	long result = epoll_wait(fd, &event, 1, -1);
	int error = errno;

	close(fd);
	errno = error;
	return result;
}

static inline long wait_semop(void)
{
	struct sembuf operation = {.sem_op = -1};

	return semop(semget(IPC_PRIVATE, 1, 0600), &operation, 1);
}

static inline long wait_sigtimedwait(void)
{
	struct timespec time = {.tv_sec = 3600};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return sigtimedwait(&set, NULL, &time);
}

/*
 * A socket on which nothing ever comes, with a limit on the time that is waited for it: a stop cuts
 * the wait short, where one without a limit would go on. -1: none.
 */
static inline int silent_socket(void)
{
	struct timeval time = {.tv_sec = 3600};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		return -1;
	return pair[0];
}

static inline long wait_recv_timeout(void)
{
	char c;

	return recv(silent_socket(), &c, 1, 0);
}

#endif
