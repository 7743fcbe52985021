// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fork, exec, vfork, posix_spawn. Children print their own truth and stay until they are told to go
 * (SIGTERM) or this program ends. Usage: family [fork-first]
 */
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "truth.h"

extern char **environ;
static char extra[64];
static void *parents_block;

SITE static void *leak_parent(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void *leak_child(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void *leak_again(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void *leak_spawned(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

/*
 * A child's signals: SIGUSR2 is "go", SIGTERM is the end. Blocked before the child starts, so that
 * none is missed.
 */
static void child_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR2);
	sigaddset(set, SIGTERM);
	sigprocmask(SIG_BLOCK, set, NULL);
}

static void wait_for(const sigset_t *set, int wanted)
{
	int got;

	do {
		if (sigwait(set, &got))
			truth_die("sigwait");
		if (got == SIGTERM)
			_exit(0);
	} while (got != wanted);
}

/* What a forked child does: the block that it frees was its parent's, and stays alive there. */
static void child_main(int on_signal)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_signals(&set);
	truth_reset();
	if (on_signal)
		wait_for(&set, SIGUSR2);
	for (int i = 0; i < 7; i++)
		leak_child(100);
	if (parents_block) {
		free(parents_block);
		truth_unknown_frees++;
	}
	truth_print("child", "");
	for (;;)
		wait_for(&set, SIGTERM);
}

static pid_t fork_child(int on_signal)
{
	sigset_t set, old;
	pid_t pid;

	sigprocmask(SIG_BLOCK, NULL, &old);
	child_signals(&set);
	pid = fork();
	if (pid < 0)
		truth_die("fork");
	if (!pid)
		child_main(on_signal);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

static pid_t spawn_child(const char *how)
{
	char *argv[] = {(char *)"family", (char *)how, NULL};
	sigset_t set, old;
	pid_t pid;

	sigprocmask(SIG_BLOCK, NULL, &old);
	child_signals(&set); /* inherited over exec */
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		truth_die("posix_spawn");
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

static int spawned_main(int on_signal)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_signals(&set);
	if (on_signal) {
		truth_print("spawned", "");
		wait_for(&set, SIGUSR2);
	}
	for (int i = 0; i < 5; i++)
		leak_spawned(300);
	truth_print("child", "");
	wait_for(&set, SIGTERM);
	return 0;
}

static void vfork_true(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		truth_die("vfork");
}

static const char *obey(const char *command)
{
	pid_t child = 0;

	if (!strcmp(command, "go")) {
		for (int i = 0; i < 10; i++)
			parents_block = leak_parent(100);
	} else if (!strcmp(command, "again")) {
		for (int i = 0; i < 3; i++)
			leak_again(1000);
	} else if (!strcmp(command, "fork")) {
		child = fork_child(0);
	} else if (!strcmp(command, "fork-wait")) {
		child = fork_child(1);
	} else if (!strcmp(command, "spawn")) {
		child = spawn_child("--spawned");
	} else if (!strcmp(command, "spawn-wait")) {
		child = spawn_child("--spawned-wait");
	} else if (!strcmp(command, "vfork")) {
		vfork_true();
	} else if (!strcmp(command, "exec")) {
		execl("/proc/self/exe", "family-again", "--again", (char *)NULL);
		truth_die("exec");
	} else {
		return NULL;
	}
	snprintf(extra, sizeof(extra), ",\"child\":%d", (int)child);
	return child ? extra : "";
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--spawned"))
		return spawned_main(0);
	if (argc > 1 && !strcmp(argv[1], "--spawned-wait"))
		return spawned_main(1);
	if (argc > 1 && !strcmp(argv[1], "fork-first")) {
		snprintf(extra, sizeof(extra), ",\"child\":%d", (int)fork_child(1));
		truth_print("fork-first", extra);
	}
	return truth_serve(obey);
}
