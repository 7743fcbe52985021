// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/loop_events.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"

static void loop_signal_set(sigset_t *set)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(set, signals[i]);
}

int loop_block_signals(sigset_t *old)
{
	sigset_t set;

	loop_signal_set(&set);
	signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, old) ? -errno : 0;
}

void loop_raise_file_limit(struct rlimit *old)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, old)) {
		*old = (struct rlimit){1024, 1024};
		return;
	}
	raised = (struct rlimit){old->rlim_max, old->rlim_max};
	if (setrlimit(RLIMIT_NOFILE, &raised))
		log_debug("cannot raise the limit of open files: %s", strerror(errno));
}

int loop_events_open(uint64_t interval_ns, struct loop_events *events)
{
	sigset_t set;

	*events = (struct loop_events){-1, -1};
	loop_signal_set(&set);
	events->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (events->signals < 0)
		return log_errno(errno, "signalfd");
	events->timer = timer_open(interval_ns);
	return events->timer < 0 ? events->timer : 0;
}

void loop_events_close(struct loop_events *events)
{
	if (events->signals >= 0)
		close(events->signals);
	if (events->timer >= 0)
		close(events->timer);
	*events = (struct loop_events){-1, -1};
}

bool loop_events_signal(const struct loop_events *events, struct signalfd_siginfo *info)
{
	return read(events->signals, info, sizeof(*info)) == sizeof(*info);
}

bool loop_events_interval(const struct loop_events *events)
{
	uint64_t passed;

	return read(events->timer, &passed, sizeof(passed)) == sizeof(passed);
}
