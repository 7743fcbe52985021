// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_attach.h"

#include <errno.h>
#include <stdio.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/process/proc.h"
#include "user/keep/keep_refused.h"

/* A program that has just begun may not have mapped its allocator yet. */
#define BEGINS_NS NS_PER_S

static const char *keep_why_not(int err)
{
	switch (err) {
	case -ENOENT:
		return "no allocator was found in it";
	case -EUSERS:
		return "too many processes are traced";
	case -EOPNOTSUPP:
		return "it runs under valgrind, or is a 32-bit or foreign program";
	default:
		return "it cannot be traced";
	}
}

/* A program that has begun by exec and has no gate: waits for its allocator, or is given up and tried again. */
static void keep_look_at_begun(struct trace *trace, struct kept *kept, uint64_t now)
{
	struct target *target = trace_find_target(trace, kept->pid);

	if (!target)
		return;
	snprintf(kept->reason, sizeof(kept->reason), "%s",
		 *target_refusal(target) ? target_refusal(target)
		 : target_is_go(target)	 ? TRACE_GO_REASON
					 : keep_why_not(-ENOENT));
	if (kept->tries++ == 0) {
		kept->retry_ns = now + BEGINS_NS;
		return;
	}
	trace_remove_target(trace, target);
}

/*
 * The look that has named it may be some time ago: loading takes a second, each gate before it its time. By now its
 * number may be another process's, which nobody has named.
 */
static bool keep_is_there(const struct kept *kept)
{
	struct proc_stat stat;

	return !proc_stat(kept->pid, &stat) && stat.start_ticks == kept->start_ticks;
}

int keep_attach(struct trace *trace, struct kept *kept, uint64_t now)
{
	unsigned tries = kept->tries < KEEP_RETRIES_LONG ? kept->tries : KEEP_RETRIES_LONG;
	int err;

	/* Until a look finds that it is not. */
	kept->ended = !keep_is_there(kept);
	if (kept->ended) {
		kept->retry_ns = now + KEEP_RETRY_NS;
		return 0;
	}
	err = trace_add_process(trace, kept->pid);
	if (!err && kept->target)
		return 0;
	kept->retry_ns = now + (KEEP_RETRY_NS << tries);
	if (!err) {
		keep_look_at_begun(trace, kept, now);
		return 0;
	}
	kept->tries++;
	if (err == -ENOMEM)
		return err;
	keep_refused_note(kept, *trace_refusal(trace) ? trace_refusal(trace) : keep_why_not(err),
			  err == -ESRCH);
	/* Amid that: as soon as it goes on. */
	if (keep_refused_stands(kept))
		kept->retry_ns = 0;
	return 0;
}
