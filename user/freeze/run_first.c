// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/run_first.h"

#include <pthread.h>
#include <sched.h>

void run_first(bool first)
{
	const struct sched_param param = {.sched_priority = first};

	pthread_setschedparam(pthread_self(), first ? SCHED_FIFO : SCHED_OTHER, &param);
}
