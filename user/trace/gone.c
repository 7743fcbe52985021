// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/gone.h"

#include <poll.h>

#include "user/trace/internal.h"

/*
 * The exit event can be lost with a full ring buffer; a pidfd cannot. Only those that we opened
 * have one. True: some have ended.
 */
bool gone_look(struct trace *trace)
{
	struct target *target, *next;
	bool some = false;

	HASH_ITER (hh, trace->targets, target, next) {
		struct pollfd fd = {.fd = target->pidfd, .events = POLLIN};

		target->gone = target->pidfd >= 0 && poll(&fd, 1, 0) == 1;
		some |= target->gone;
	}
	return some;
}

void gone_end(struct trace *trace)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		if (target->gone)
			target_end(trace, target, true);
	}
}
