// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/reclaim.h"

#include <string.h>

#include "user/base/log.h"
#include "user/kernel/probe_event.h"
#include "user/blocks/blocks.h"
#include "user/misuse/misuses.h"
#include "user/figures/figures_read.h"
#include "user/patch/guarded.h"
#include "user/figures/peaks.h"
#include "user/scopes/scopes.h"
#include "user/stacks/slots.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"
#include "user/trace/target_patches.h"
#include "user/unwind/publish.h"

/* Ended targets are cleared from the kernel in batches: each clearing walks the whole live map. */
#define RECLAIM_BATCH 64

void reclaim_ended(struct trace *trace)
{
	struct target *target;
	bool alive = false;
	int err;

	if (!trace->ended)
		return;
	for (target = trace->ended; target; target = target->next_ended) {
		slots_stats(trace->slots, target->id)->swept_id = target->id;
		alive |= target->alive;
	}
	/* Programs that have begun for what was given up are to find its row, and nobody else's. */
	if (alive)
		unwind_publisher_wait(trace->unwind);
	err = blocks_sweep(trace->blocks);
	if (err)
		log_debug("cannot clear the live map: %s", strerror(-err));
	slots_release_swept(trace->slots, figures_release_slot, trace->figures);
	scopes_release_swept(trace->scopes);
	misuses_release_swept(trace->misuses);
	target_patches_release_swept(trace);
	while (trace->ended) {
		target = trace->ended;
		if (target->stage != TARGET_FORGOTTEN)
			unwind_publisher_drop(trace->unwind, target->id);
		trace->ended = target->next_ended;
		slots_release_target(trace->slots, target->id);
		peaks_release_target(trace->figures, target->id);
		stack_table_remove_target(trace->stacks, target->id);
		runtimes_drop(trace->runtimes, target->id);
		target_id_give(trace, target->id);
		target_free(trace, target);
	}
	trace->ended_count = 0;
	if (trace->probe_events)
		probe_events_sweep(true);
}

void reclaim_many(struct trace *trace)
{
	if (trace->ended_count >= RECLAIM_BATCH)
		reclaim_ended(trace);
}
