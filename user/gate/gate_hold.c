// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/gate_hold.h"

#include "user/base/clock.h"
#include "user/freeze/remote.h"

/*
 * A thread stands still for that long at most, should everything go wrong; with a hold … With less than
 * one share left of that it goes on for a moment, and is held anew.
 */
#define HOLD_NS	     NS_PER_S
#define LONG_HOLD_NS (4 * NS_PER_S)
#define SHARE_NS     (2 * NS_PER_S)

void gate_hold_end(struct gate_hold *hold)
{
	remote_end(hold->holder);
	*hold = (struct gate_hold){0};
}

int gate_hold_enter(pid_t pid, struct gate_hold *hold, struct remote **out,
		    char reason[static REASON_MAX])
{
	uint64_t start = monotonic_ns();
	int err;

	if (hold && start - hold->since_ns > LONG_HOLD_NS - SHARE_NS)
		gate_hold_end(hold);
	*out = hold ? hold->holder : NULL;
	if (*out)
		return 0;
	err = remote_begin(pid, hold ? LONG_HOLD_NS : HOLD_NS, out, reason);
	if (!err && hold)
		*hold = (struct gate_hold){.holder = *out, .since_ns = start};
	return err;
}

uint64_t gate_hold_leave(struct gate_hold *hold, struct remote *remote, bool failed)
{
	if (!hold)
		return remote_end(remote);
	if (failed)
		gate_hold_end(hold);
	return 0;
}
