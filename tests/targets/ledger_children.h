/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children of a program that keeps a ledger (ledger.h), which allocate as it does. */
#ifndef MEMLEAKBPF_TESTS_LEDGER_CHILDREN_H
#define MEMLEAKBPF_TESTS_LEDGER_CHILDREN_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "ledger.h"

extern char **environ;

static void steps_by(const struct ledger_functions *functions, long count, uint32_t largest)
{
	struct ledger l = {
		.functions = functions, .random = 88172645463325252u, .largest = largest};

	for (long i = 0; i < count; i++)
		ledger_step(&l);
	ledger_empty(&l);
}

static void must_end_well(pid_t child, const char *who)
{
	static char line[128];
	int status;
	pid_t ended;

	do {
		ended = waitpid(child, &status, __WALL);
	} while (ended < 0 && errno == EINTR);
	if (ended == child && WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	snprintf(line, sizeof(line), "ledger: a child by %s has ended with status %#x", who,
		 status);
	truth_die(line);
}

static void make_forks(long count, int generations)
{
	for (long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			truth_die("ledger: fork");
		if (!child) {
			steps_by(&ledger_libc, 3000, 1 << 20);
			if (generations > 1)
				make_forks(1, generations - 1);
			steps_by(&ledger_libc, 1000, 0);
			_exit(0);
		}
		must_end_well(child, "fork");
	}
}

static pid_t make_vfork(void)
{
	pid_t child = vfork();

	if (child)
		return child;
	steps_by(&ledger_libc, 300, 0);
	_exit(0);
}

/* It runs in its parent's memory, with its thread's variables: small blocks come from there. */
static void make_vforks(long count)
{
	for (long i = 0; i < count; i++) {
		must_end_well(make_vfork(), "vfork");
	}
}

static int cloned(void *arg)
{
	steps_by(&ledger_libc, *(long *)arg, 0);
	return 0;
}

/* The thread that has made it does nothing meanwhile: they have the same variables. */
static void make_clones(long count)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	long steps = 300;

	for (long i = 0; i < count; i++)
		must_end_well(clone(cloned, stack + sizeof(stack), CLONE_VM | SIGCHLD, &steps),
			      "clone");
}

static void make_spawns(long count)
{
	for (long i = 0; i < count; i++) {
		char *const argv[] = {"true", NULL};
		pid_t child;

		if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ))
			truth_die("ledger: posix_spawn");
		must_end_well(child, "posix_spawn");
	}
}

#endif
