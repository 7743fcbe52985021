// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/run_first.h"
#include "user/freeze/seccomp_filter.h"
#include "user/freeze/stop.h"
#include "user/guard/guard_layout.h"
#include "user/guard/guard_stub.h"
#include "user/process/proc.h"

/* How long the process may stand still, and how often we try. */
#define HOLD_NS (200 * NS_PER_MS)
#define TRIES	3

#define UNKNOWN (-1)
#define NOBODY	(-2) /* no thread has been looked at yet */

/* A first thread that has ended before others still exists, without filters. */
static bool has_ended(pid_t tid)
{
	_cleanup_free_ char *state = NULL;

	return proc_status_field(tid, "State", &state) || strpbrk(state, "ZX") != NULL;
}

static int filters_count_thread(void *ctx, pid_t tid)
{
	int *all = ctx;
	long mode = proc_status_number(tid, "Seccomp", UNKNOWN), count = 0;

	if (mode)
		count = mode == 2 ? proc_status_number(tid, "Seccomp_filters", UNKNOWN) : UNKNOWN;
	if (count == *all || has_ended(tid))
		return 0;
	if (count == UNKNOWN || *all != NOBODY)
		return 1;
	*all = (int)count;
	return 0;
}

int guard_filters_count(pid_t pid)
{
	int all = NOBODY;

	return proc_each_thread(pid, filters_count_thread, &all) || all < 0 ? UNKNOWN : all;
}

/*
 * Describes all of the stub's calls: drop() of guard_slow.c, for a page or all of a place. Unset
 * parts are what the registers hold.
 */
static struct filter_call filters_call(const struct guard_pages *pages)
{
	uint64_t pool_end = pages->pool + guard_pool_size(pages->count);
	struct filter_call call = {
		.number = SYS_madvise,
		.instruction = {pages->address, pages->address + GUARD_CODE_SIZE},
		.arguments = {{pages->pool, pool_end - GUARD_PAGE},
			      {GUARD_PAGE, GUARD_PLACE},
			      {MADV_DONTNEED, MADV_DONTNEED}},
	};

	for (size_t i = 3; i < ARRAY_SIZE(call.arguments); i++)
		call.arguments[i] = (struct filter_span){0, UINT64_MAX};
	return call;
}

static int filters_ask(struct guard_pages *pages, struct guard_filters *filters)
{
	const struct filter_call call = filters_call(pages);
	unsigned count = 0;
	struct stop *stop;
	uint64_t stood;
	int err;

	run_first(true);
	err = stop_begin(pages->pid, HOLD_NS, NULL, &stop, filters->reason);
	/*
	 * Somebody else traces it, or it is frozen: that costs it nothing, and says nothing of its
	 * filters.
	 */
	if (err == -EPERM || err == -EBUSY) {
		err = -EBUSY;
	} else if (err) {
		filters->tries++;
	} else {
		filters->tries++;
		err = stop_ask_filters(stop, &call, &count, filters->reason);
		stood = stop_end(stop);
		if (stood > pages->pause_ns)
			pages->pause_ns = stood;
		stop_free(stop);
	}
	run_first(false);
	/* A filter has come meanwhile. */
	if (!err && (int)count != filters->count)
		err = refuse(filters->reason, -EAGAIN, "it makes seccomp filters now");
	return err;
}

void guard_filters_look(struct guard_pages *pages, struct guard_filters *filters)
{
	int count = guard_filters_count(pages->pid), err = 0;

	if (count != filters->count)
		*filters = (struct guard_filters){.count = count};
	if (filters->looked)
		return;
	if (count == UNKNOWN)
		err = refuse(filters->reason, -EPERM,
			     "its threads have different seccomp filters, or are in strict mode");
	/* Another part of ours holds its thread. */
	else if (count && pages->hold && pages->hold->holder)
		err = refuse(filters->reason, -EBUSY,
			     "its seccomp filters have not been looked at yet");
	else if (count)
		err = filters_ask(pages, filters);
	filters->looked = !err || err == -EPERM || filters->tries == TRIES;
	filters->pass = !err;
}
