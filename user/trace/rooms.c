// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/rooms.h"

#include <errno.h>

#include "user/blocks/blocks.h"
#include "user/capture/capture.h"
#include "user/figures/figures_read.h"
#include "user/misuse/misuses.h"
#include "user/stacks/slots.h"
#include "user/trace/refused.h"
#include "user/trace/skeleton.h"
#include "user/trace/target_patches.h"

_Static_assert(TRACE_LIFETIMES_MAX_STACKS + ABI_TARGET_SLOTS < LIVE_SLOT_MASK,
	       "the bits that are left of a slot are enough");

int rooms_configure(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct memleakbpf *skel = trace->skel;
	const struct figures_options options = {
		.kept = o->figures,
		.group_sizes = o->group_sizes,
		.max_stacks = o->max_stacks,
		.sample_bytes = o->sample_bytes,
	};
	const struct figures_maps maps = {
		.lifetimes = skel->maps.slot_lifetimes,
		.outlived = skel->maps.slots_outlived,
		.temporaries = skel->maps.slot_temporaries,
		.slot_peaks = skel->maps.slot_peaks,
		.target_peaks = skel->maps.target_peaks,
		.live = skel->maps.live,
	};

	/* Where the kernel has refused something, all is configured once more. */
	figures_free(trace->figures);
	return figures_new(&options, &maps, &skel->rodata->config, &trace->figures);
}

/* 0 or -errno, logged. */
static int rooms_start_slots(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	const struct slots_options options = {
		.max_stacks = trace->options.max_stacks,
		.sample_bytes = trace->options.sample_bytes,
		.births = trace->options.figures.lifetimes,
	};
	const struct slots_maps maps = {
		.counters = skel->maps.counters,
		.slot_infos = skel->maps.slot_infos,
		.slot_ages = skel->maps.slot_ages,
		.target_stats = skel->maps.target_stats,
		.stacks = skel->maps.stacks,
		.free_slots = skel->maps.free_slots,
		.slot_scopes = trace->options.scope_count ? skel->maps.slot_scopes : NULL,
	};

	return slots_new(&options, &maps, &skel->bss->shared, &trace->slots);
}

static int rooms_start_blocks(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct memleakbpf *skel = trace->skel;
	const struct blocks_options options = {
		.sample_bytes = o->sample_bytes,
		.older_ns = o->older_ns,
		.sample_levels = o->sample_levels,
		.slots = o->max_stacks + ABI_TARGET_SLOTS,
	};
	const struct blocks_maps maps = {
		.live = skel->maps.live,
		.live_filter = skel->maps.live_filter,
		.families = o->check_frees ? skel->maps.families : NULL,
	};
	const struct blocks_programs programs = {
		.clock = skel->progs.live_clock_read,
		.ages = o->scope_count ? skel->progs.scoped_live_ages : skel->progs.live_ages,
		.sweep = skel->progs.live_sweep,
	};

	return blocks_new(&options, &maps, &programs, trace->slots, trace->figures,
			  &skel->bss->shared, &trace->blocks);
}

static int rooms_start_captures(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct memleakbpf *skel = trace->skel;
	const struct captures_options options = {
		.task_storage = o->task_storage,
		.sleepers = o->sleepers,
		.copies = o->copies,
		.older_ns = o->older_ns,
	};
	const struct captures_maps maps = {
		.threads = skel->maps.threads,
		.thread_storage = skel->maps.thread_storage,
		.targets = skel->maps.targets,
		.noted_frees = skel->maps.noted_frees,
	};

	return captures_new(&options, &maps, trace->blocks, trace->slots, &skel->bss->shared,
			    &trace->captures);
}

static int rooms_start_misuses(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	const struct misuses_maps maps = {
		.tables = {
			[MISUSE_BY_CHECK] = o->check_frees ? trace->skel->maps.bad_frees : NULL,
			[MISUSE_BY_GUARD] = o->guard.period ? trace->skel->maps.bad_accesses : NULL,
		}};

	return misuses_new(&maps, trace->slots, trace->stacks, trace->patches, &trace->misuses);
}

/* Ages count from this reading. Where it is not to be had, there are none. */
static void rooms_start_clock(struct trace *trace)
{
	struct live_clock clock;
	int err =
		trace->options.left_out & LEFT_OUT_CLOCK ? 0 : blocks_clock(trace->blocks, &clock);

	if (!err)
		return;
	trace->options.ages = trace->options.copies = false;
	refused_note(trace, "ages", REFUSED_NO_CLOCK, err, "running live_clock_read");
}

int rooms_start(struct trace *trace)
{
	int err = rooms_start_slots(trace);

	err = err ?: figures_start(trace->figures, trace->slots, trace->stacks);
	err = err ?: rooms_start_blocks(trace);
	err = err ?: rooms_start_misuses(trace);
	if (!err && trace->options.guard.period)
		err = slots_map_array(trace->skel->maps.guard_blocks,
				      (void **)&trace->guard_blocks);
	if (err)
		return err;
	target_patches_start(trace);
	rooms_start_clock(trace);
	return rooms_start_captures(trace);
}

void rooms_free(struct trace *trace)
{
	captures_free(trace->captures);
	misuses_free(trace->misuses);
	blocks_free(trace->blocks);
	figures_free(trace->figures);
	slots_free(trace->slots);
	if (trace->skel)
		slots_unmap_array(trace->skel->maps.guard_blocks, trace->guard_blocks);
}
