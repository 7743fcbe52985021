// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/hurry.h"

#include <sys/resource.h>

#include "user/base/clock.h"
#include "user/trace/state.h"
#include "user/trace/work.h"

/* For so long we come first after a process has been held. */
#define HURRY_ON_NS NS_PER_S

static bool hurry_for(const struct queued_event *event)
{
	const struct process_event *process = event->process.event;

	return event->kind == QUEUED_PROCESS &&
	       (process->header.type == EVENT_FORK || process->header.type == EVENT_EXEC) &&
	       process->held;
}

/*
 * Processes that are held keep processors busy (bpf/wait.h), and wait for us: where many are, we
 * would get one share of many. So we come first until there are none. Where that is not permitted
 * it takes longer.
 */
void hurry_choose(struct trace *trace, const struct queued_event *events, size_t count)
{
	bool hurry = false;

	for (size_t i = 0; i < count && !hurry; i++)
		hurry = hurry_for(&events[i]);
	/* One that is held may bring the next, and be held while we are at what others have told. */
	if (hurry)
		trace->hurry.held_ns = monotonic_ns();
	hurry |= trace->hurry.on && monotonic_ns() - trace->hurry.held_ns < HURRY_ON_NS;
	if (hurry == trace->hurry.on)
		return;
	if (hurry)
		trace->hurry.usual_nice = getpriority(PRIO_PROCESS, 0);
	if (!setpriority(PRIO_PROCESS, 0, hurry ? PRIO_MIN : trace->hurry.usual_nice))
		trace->hurry.on = hurry;
}

/*
 * All that happened before the next event has been handled. So processes that wait for no more than
 * that go on now. On a busy machine many are held, and need not wait until all have been seen to.
 * With gates and guards they do wait (target_patches_look()).
 */
void hurry_answer_until(struct trace *trace, const struct queued_event *next)
{
	uint64_t *handled = &trace->skel->bss->shared.handled_ns;

	trace_note_work(trace);
	if (!trace->options.guard.period && !trace->options.gate && next->time_ns > *handled)
		__atomic_store_n(handled, next->time_ns - 1, __ATOMIC_RELEASE);
}
