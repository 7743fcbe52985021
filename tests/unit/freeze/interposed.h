/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A function in a process of its own, of which the test is shown each system call of some kinds before it is made, and
 * those of the processes that it makes: so what others do comes between two steps of it for certain.
 */
#ifndef MEMLEAKBPF_TESTS_INTERPOSED_H
#define MEMLEAKBPF_TESTS_INTERPOSED_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERPOSED_CALLS 2 /* kinds of them */

struct interposed {
	unsigned calls[INTERPOSED_CALLS];
	int (*run)(void *ctx); /* what it returns is the process's exit status */
	/* Who makes the call waits for this; it may have been killed. */
	void (*before)(void *ctx, pid_t process, const struct seccomp_data *call);
	void *ctx;
};

/* The descriptor by which they are shown, or -1. */
static inline int interposed_listen(const struct interposed *it)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, it->calls[0], 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, it->calls[1], 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 5, .filter = code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static inline void interposed_watch(const struct interposed *it, int listener)
{
	struct pollfd one = {.fd = listener, .events = POLLIN};

	/* Until nobody is left who has the filter. */
	while (poll(&one, 1, -1) > 0 && (one.revents & POLLIN)) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		it->before(it->ctx, (pid_t)call.pid, &call.data);
		answer.id = call.id;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* The exit status; -1: it was killed, or could not be watched. */
static inline int interposed_run(const struct interposed *it)
{
	int number, status, ends[2], listener = -1, process;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		number = interposed_listen(it);
		if (number < 0 || write(ends[1], &number, sizeof(number)) != sizeof(number))
			_exit(127);
		close(ends[0]);
		close(ends[1]);
		_exit(it->run(it->ctx));
	}
	close(ends[1]);
	if (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
		process = (int)syscall(SYS_pidfd_open, child, 0);
		listener = (int)syscall(SYS_pidfd_getfd, process, number, 0);
		close(process);
	}
	close(ends[0]);
	if (listener < 0)
		kill(child, SIGKILL);
	else
		interposed_watch(it, listener);
	close(listener);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif
