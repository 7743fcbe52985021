// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_mappings.h"

#include <errno.h>

#include "user/base/clock.h"
#include "user/unwind/publish.h"

#define RECLAIM_EVERY_NS (NS_PER_S / 2)

void target_publish(struct trace *trace, struct target *target)
{
	uint64_t generation = image_generation(target->image);
	struct image *now;

	if (target->stage == TARGET_LAUNCHING || target->published == generation)
		return;
	/*
	 * Not the image itself: that is as old as the last record, which the stacks still to come
	 * are looked up in.
	 */
	now = image_clone(target->image, target->pid);
	if (!now)
		return;
	target->published = generation;
	/*
	 * It maps memory all the time: until this works, in a later turn, the kernel is asked, which
	 * is right but slower.
	 */
	if (unwind_publisher_sync(trace->unwind, target->id, now) == -EAGAIN)
		target->published = 0;
	image_free(now);
}

void targets_publish(struct trace *trace)
{
	uint64_t now = monotonic_ns();
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next)
		target_publish(trace, target);
	/* Only now, so that what a new program shares with the one before it is not built again. */
	for (target = trace->ended; target && target->stage != TARGET_FORGOTTEN;
	     target = target->next_ended) {
		unwind_publisher_drop(trace->unwind, target->id);
		target->stage = TARGET_FORGOTTEN;
	}
	/*
	 * That waits for the running programs, 10 to 20 ms, in which no new process is looked at. What ended
	 * processes had may stay a while, and is not missed at all once none is left.
	 */
	if (!trace->targets || now - trace->mapped.reclaimed_ns < RECLAIM_EVERY_NS)
		return;
	trace->mapped.reclaimed_ns = now;
	unwind_publisher_reclaim(trace->unwind);
}

int target_walk_here(struct trace *trace, const struct target *target)
{
	uint64_t generation = image_generation(target->image);
	int err;

	if (trace->mapped.own_target == target->id && trace->mapped.own_generation == generation)
		return 0;
	err = unwind_publisher_set(trace->unwind, UNWIND_OWN_TARGET, target->image);
	if (err)
		return err;
	trace->mapped.own_target = target->id;
	trace->mapped.own_generation = generation;
	return 0;
}
