// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/gate_hold.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/remote.h"
#include "user/process/proc.h"

/*
 * A thread stands still for HOLD_NS at most, should everything go wrong; with a hold for
 * LONG_HOLD_NS. With less than SHARE_NS left the process goes on for a moment, and is held anew.
 */
#define HOLD_NS	     NS_PER_S
#define LONG_HOLD_NS (4 * NS_PER_S)
#define SHARE_NS     (2 * NS_PER_S)

/*
 * So many holds at most. The first break between two has BREAK_NS, each later one is longer. A
 * machine that is too busy stays so for a while, and the process gets what it can meanwhile.
 */
#define TRIES	     4
#define BREAK_NS     (100 * NS_PER_MS)
#define BREAK_FACTOR 3

bool gate_has_threads(pid_t pid)
{
	_cleanup_free_ pid_t *sharers = NULL;
	size_t count = 0;

	return proc_other_thread(pid, pid) || proc_sharers(pid, &sharers, &count) || count;
}

void gate_hold_end(struct gate_hold *hold)
{
	remote_end(hold->holder);
	*hold = (struct gate_hold){.lost = hold->lost};
}

int gate_hold_enter(pid_t pid, struct gate_hold *hold, pid_t loose, struct remote **out,
		    char reason[static REASON_MAX])
{
	uint64_t start = monotonic_ns(), hold_ns = hold && !hold->lost ? LONG_HOLD_NS : HOLD_NS;
	int err;

	if (hold && (hold->lost || start - hold->since_ns > LONG_HOLD_NS - SHARE_NS))
		gate_hold_end(hold);
	*out = hold ? hold->holder : NULL;
	if (*out)
		return 0;
	err = remote_begin_with(pid, loose, hold_ns, out, reason);
	/*
	 * Checked again, since it may have made threads while it ran: only now can it make no more.
	 */
	if (!err && hold && !gate_has_threads(pid))
		*hold = (struct gate_hold){.holder = *out, .since_ns = start, .lost = hold->lost};
	return err;
}

uint64_t gate_hold_leave(struct gate_hold *hold, struct remote *remote, bool failed, pid_t *loose)
{
	bool lost = remote_is_lost(remote);

	*loose = remote_loose(remote);
	if (!hold || hold->holder != remote)
		return remote_end(remote);
	hold->lost |= lost;
	if (failed || lost)
		gate_hold_end(hold);
	return 0;
}

bool gate_hold_again(int err, int tries)
{
	/*
	 * The obstacle is new since an earlier try and may be over as soon: a freezer, or another
	 * holder.
	 */
	bool late = err == -ETIMEDOUT || err == -ECANCELED || (err == -EPERM && tries > 1);
	uint64_t pause_ns = BREAK_NS;
	struct timespec pause;

	if (tries >= TRIES || (!late && err != -EEXIST && err != -EBUSY))
		return false;
	for (int i = 1; i < tries; i++)
		pause_ns *= BREAK_FACTOR;
	pause = ns_timespec(pause_ns);
	if (late)
		nanosleep(&pause, NULL);
	return true;
}
