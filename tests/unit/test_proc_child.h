/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Child processes that the tests look at: they do something, say so, and stay until they are told
 * to end.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_TEST_PROC_CHILD_H
#define MEMLEAKBPF_TESTS_UNIT_TEST_PROC_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int to, from; /* pipes */
};

/*
 * Runs step(arg, 0) in a fork; child_step() runs the next ones. step returns 0, or the test fails.
 */
static inline struct child child_start(int (*step)(void *arg, int number), void *arg)
{
	struct child child;
	int to[2], from[2];
	char byte = 0;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		for (int number = 0;; number++) {
			if (step && step(arg, number))
				_exit(1);
			if (write(from[1], &byte, 1) != 1 || read(to[0], &byte, 1) != 1)
				_exit(0);
		}
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	assert_int_equal(read(child.from, &byte, 1), 1);
	return child;
}

static inline void child_step(const struct child *child)
{
	char byte = 0;

	assert_int_equal(write(child->to, &byte, 1), 1);
	assert_int_equal(read(child->from, &byte, 1), 1);
}

/*
 * A program that copies its input to its output (cat): that it has answered means that it is past
 * its start.
 */
static inline struct child child_exec(const char *path, char *const argv[], char *const envp[])
{
	struct child child;
	int to[2], from[2];
	char byte = 'x';
	posix_spawn_file_actions_t actions;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	assert_int_equal(posix_spawn(&child.pid, path, &actions, NULL, argv, envp), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	assert_int_equal(write(child.to, &byte, 1), 1);
	assert_int_equal(read(child.from, &byte, 1), 1);
	return child;
}

static inline void child_end(const struct child *child)
{
	close(child->to);
	close(child->from);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

/* A child that has ended and has not been waited for; end it with waitpid(). */
static inline pid_t child_zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

static inline void make_directory(char path[32])
{
	strcpy(path, "/tmp/memleakbpf-XXXXXX");
	assert_non_null(mkdtemp(path));
}

static inline void run_tool(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void run_tool(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command))
		fail_msg("%s failed", command);
}

/* Skips the test, saying why, unless the file is there. */
static inline void need_file(const char *path)
{
	if (access(path, R_OK)) {
		print_message("skipped: %s is not installed\n", path);
		skip();
	}
}

/* A C compiler or another tool of PATH. */
static inline void need_tool(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	if (system(command)) {
		print_message("skipped: %s is not installed\n", name);
		skip();
	}
}

static inline void need_root(void)
{
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		skip();
	}
}

#endif
