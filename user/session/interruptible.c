// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/interruptible.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/kernel/caller_file.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* Global, since a handler sees nothing else. */
static volatile sig_atomic_t kept; /* 0: none yet */
static siginfo_t kept_info;

static struct {
	bool active;
	sigset_t mask;
	struct sigaction actions[ARRAY_SIZE(signals)];
} before;

static void interruptible_on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!kept) {
		kept_info = *info;
		kept = number;
		return;
	}
	/* Delivered when this handler returns. */
	signal(number, SIG_DFL);
	raise(number);
}

static bool interruptible_are_blocked(sigset_t *mask)
{
	return !sigprocmask(SIG_BLOCK, NULL, mask) && sigismember(mask, SIGTERM) == 1;
}

static void interruptible_unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void interruptible_begin(void)
{
	/* A write that has been interrupted goes on. */
	struct sigaction action = {.sa_sigaction = interruptible_on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	before.active = interruptible_are_blocked(&before.mask);
	if (!before.active)
		return;
	kept = 0;
	/* One handler at a time. */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&action.sa_mask, signals[i]);
	/* Also signals that we were born ignoring: the loop takes them as well. */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, &before.actions[i]);
	interruptible_unblock();
}

void interruptible_end(void)
{
	if (!before.active)
		return;
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &before.actions[i], NULL);
	/* Queues it again for the loop, with its sender, which matters there. */
	if (kept)
		syscall(SYS_rt_sigqueueinfo, getpid(), (int)kept, &kept_info);
}

FILE *interruptible_create(const char *path, bool secret, struct caller_file_kept *kept)
{
	bool blocked;
	sigset_t mask;
	FILE *file;
	int err;

	blocked = interruptible_are_blocked(&mask);
	if (blocked)
		interruptible_unblock();
	file = caller_file_create(path, secret, kept);
	err = errno;
	if (blocked)
		sigprocmask(SIG_SETMASK, &mask, NULL);
	errno = err;
	return file;
}
