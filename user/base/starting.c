// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/starting.h"

#include <stddef.h>

static const int signals[STARTING_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void starting_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < STARTING_SIGNALS; i++)
		sigaddset(set, signals[i]);
}

/* A shell makes its background commands ignore SIGINT; the loop takes it all the same. */
void starting_begin(struct starting *before)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t set;

	starting_set(&set);
	for (size_t i = 0; i < STARTING_SIGNALS; i++)
		sigaction(signals[i], &action, &before->actions[i]);
	sigprocmask(SIG_UNBLOCK, &set, &before->mask);
}

void starting_end(const struct starting *before)
{
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	/* A signal that is ignored from now on would be lost. */
	starting_obey();
	for (size_t i = 0; i < STARTING_SIGNALS; i++)
		sigaction(signals[i], &before->actions[i], NULL);
}

bool starting_is_cancelled(void)
{
	sigset_t pending;

	if (sigpending(&pending))
		return false;
	for (size_t i = 0; i < STARTING_SIGNALS; i++) {
		if (sigismember(&pending, signals[i]) == 1)
			return true;
	}
	return false;
}

void starting_obey(void)
{
	struct starting before;

	if (starting_is_cancelled())
		starting_begin(&before);
}
