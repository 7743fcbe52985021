/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times as one number. */
#ifndef MEMLEAKBPF_BASE_CLOCK_H
#define MEMLEAKBPF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS   ((uint64_t)1000000)
#define NS_PER_S    (1000 * NS_PER_MS)
#define NS_PER_MIN  (60 * NS_PER_S)
#define NS_PER_HOUR (60 * NS_PER_MIN)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

/* In ns. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC, in ns: the clock of bpf_ktime_get_ns(). */
static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec ns_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

/*
 * Opens a descriptor that can be read every `interval_ns` (CLOCK_MONOTONIC), with 0 never. It is
 * nonblocking and the caller's to close. -errno, logged.
 */
int timer_open(uint64_t interval_ns);

/*
 * Returns when a duration that begins now is over, by monotonic_ns(). 0 is never over: UINT64_MAX.
 */
uint64_t clock_end_ns(uint64_t duration_ns);

/*
 * Returns how long poll(2) has to wait until then: rounded up, an hour at most. 0: the time has
 * come; -1: it never does.
 */
int clock_wait_ms(uint64_t end_ns);

#endif
