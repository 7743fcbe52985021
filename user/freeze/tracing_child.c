// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/tracing_child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/freeze/stop_refused.h"

bool tracing_child_end_with(pid_t tool, bool ends)
{
	prctl(PR_SET_PDEATHSIG, ends ? SIGKILL : 0);
	return getppid() == tool;
}

void tracing_child_be_alone(pid_t tool, const int *kept, size_t count)
{
	unsigned from = 0;
	sigset_t all;

	if (!tracing_child_end_with(tool, true))
		_exit(1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* It waits for this signal; a tool that ignores it would pass that on. */
	signal(SIGCHLD, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_NAME, STOP_TRACER_NAME);
	for (;;) {
		unsigned next = UINT_MAX;

		for (size_t i = 0; i <= count; i++) {
			int fd = i < count ? kept[i] : STDERR_FILENO;

			if (fd >= 0 && (unsigned)fd >= from && (unsigned)fd < next)
				next = (unsigned)fd;
		}
		/*
		 * close_range(): Linux 5.9 and glibc 2.34. Without it the descriptors go with us.
		 */
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		if (next == UINT_MAX)
			break;
		from = next + 1;
	}
}

int tracing_child_make_killer(timer_t *killer, char reason[static REASON_MAX])
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

	if (timer_create(CLOCK_MONOTONIC, &event, killer))
		return refuse(reason, -errno, "there is no timer by which to let it go");
	return 0;
}

void tracing_child_set_killer(timer_t killer, uint64_t at_ns)
{
	const struct itimerspec when = {.it_value = ns_timespec(at_ns)};

	timer_settime(killer, TIMER_ABSTIME, &when, NULL);
}

void tracing_child_set_deadline(timer_t killer, uint64_t deadline_ns)
{
	uint64_t now = monotonic_ns();

	tracing_child_set_killer(killer,
				 (deadline_ns > now ? deadline_ns : now) + TRACING_CHILD_GRACE_NS);
}
