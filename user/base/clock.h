/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times as one number. */
#ifndef MEMLEAKBPF_BASE_CLOCK_H
#define MEMLEAKBPF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In ns. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC, in ns: the clock of bpf_ktime_get_ns(). */
static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
