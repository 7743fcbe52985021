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
