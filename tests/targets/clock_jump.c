// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * To be preloaded into the tool: the time of day jumps an hour, forward and back, at every look.
 * Other clocks are what they are.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int jump(void)
{
	static int looks;
	int n = __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);

	return n % 3 == 1 ? 3600 : n % 3 == 2 ? -7200 : 86400 * 400;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int err = (int)syscall(SYS_clock_gettime, clock, ts);

	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += jump();
	return err;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	int err = clock_gettime(CLOCK_REALTIME, &ts);

	(void)zone;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return err;
}

time_t time(time_t *out)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
