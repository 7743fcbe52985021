/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the profiles that are asked for, in the survey's thread, and keeps to a share of its time. */
#ifndef MEMLEAKBPF_SERVE_PROFILE_MAKER_H
#define MEMLEAKBPF_SERVE_PROFILE_MAKER_H

#include "user/serve/profile_queue.h"
#include "user/serve/profile_source.h"

struct profile_maker {
	struct profile_queue *queue;
	const struct profile_source *source;
	uint64_t rest_until_ns; /* nothing is made before */
};

/* To be polled for reading; -1 while it rests. */
int profile_maker_fd(const struct profile_maker *maker);

/* When profile_maker_work() has something to do, by monotonic_ns(). */
uint64_t profile_maker_due_ns(struct profile_maker *maker);

/*
 * Answers one request that is due, if any. Then it rests three times as long as that took of a CPU,
 * and as long as it took. So who asks all the time has a quarter of a CPU, and not the survey's loop.
 */
void profile_maker_work(struct profile_maker *maker);

#endif
