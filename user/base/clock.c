// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "user/base/log.h"

int timer_open(uint64_t interval_ns)
{
	struct timespec t = ns_timespec(interval_ns);
	const struct itimerspec spec = {.it_interval = t, .it_value = t};
	int err, fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return log_errno(errno, "timerfd_create");
	if (!timerfd_settime(fd, 0, &spec, NULL))
		return fd;
	err = log_errno(errno, "timerfd_settime");
	close(fd);
	return err;
}

uint64_t clock_end_ns(uint64_t duration_ns)
{
	uint64_t now = monotonic_ns();

	return duration_ns && duration_ns < UINT64_MAX - now ? now + duration_ns : UINT64_MAX;
}

int clock_wait_ms(uint64_t end_ns)
{
	const uint64_t most = NS_PER_HOUR / NS_PER_MS;
	uint64_t now = monotonic_ns(), ms;

	if (end_ns == UINT64_MAX)
		return -1;
	if (end_ns <= now)
		return 0;
	ms = (end_ns - now) / NS_PER_MS + 1;
	return (int)(ms < most ? ms : most);
}
