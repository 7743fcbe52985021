// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/figures_read.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/figures_abi.h"
#include "user/model/snapshot.h"
#include "user/trace/peaks.h"
#include "user/trace/sampling.h"
#include "user/trace/sizes_read.h"
#include "user/trace/skeleton.h"
#include "user/trace/slots.h"
#include "user/trace/target.h"

_Static_assert(LIFETIME_CLASSES == LIFETIME_BUCKETS,
	       "the model has them as the programs count them");

_Static_assert(TRACE_LIFETIMES_MAX_STACKS + ABI_TARGET_SLOTS < LIVE_SLOT_MASK,
	       "the bits that are left of a slot are enough");

/* A power of two: programs take the processor's number modulo it. */
static uint32_t figures_lifetime_rows(void)
{
	int cpus = libbpf_num_possible_cpus();
	uint32_t rows = 1;

	while (rows < LIFETIME_ROWS_MAX && (int)rows < cpus)
		rows *= 2;
	return rows;
}

int figures_configure(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct memleakbpf *skel = trace->skel;
	uint32_t rows = o->figures.lifetimes ? figures_lifetime_rows() : 0;
	int err = 0;

	skel->rodata->config.lifetimes = trace->lifetime_rows = rows;
	skel->rodata->config.temporary = o->figures.temporary;
	if (rows) {
		err = bpf_map__set_max_entries(skel->maps.slot_lifetimes, o->max_stacks * rows);
		err = err ?: bpf_map__set_max_entries(skel->maps.slots_outlived, o->max_stacks);
	}
	if (o->figures.temporary)
		err = err ?: bpf_map__set_max_entries(skel->maps.slot_temporaries, o->max_stacks);
	skel->rodata->config.peak = o->figures.peak;
	if (o->figures.peak) {
		err = err
			      ?: bpf_map__set_max_entries(skel->maps.slot_peaks,
							  o->max_stacks + ABI_TARGET_SLOTS);
		err = err ?: bpf_map__set_max_entries(skel->maps.target_peaks, ABI_TARGET_SLOTS);
	}
	return err;
}

void figures_release_slot(struct trace *trace, uint32_t slot)
{
	uint32_t rows = trace->lifetime_rows;

	if (rows) {
		memset(&trace->lifetimes[(size_t)slot * rows], 0, rows * sizeof(*trace->lifetimes));
		memset(&trace->outlived[slot], 0, sizeof(*trace->outlived));
	}
	if (trace->options.figures.temporary)
		memset(&trace->temporaries[slot], 0, sizeof(*trace->temporaries));
	if (trace->options.figures.peak)
		trace->slot_peaks[slot] = 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Their counts have 16 fractional bits. */
static bool figures_are_estimates(const struct trace *trace, uint32_t slot)
{
	return trace->options.sample_bytes || trace->slot_infos[slot].weighed;
}

static uint64_t figures_count(const struct trace *trace, uint32_t slot, uint64_t count)
{
	return figures_are_estimates(trace, slot) ? (count + SAMPLE_ONE / 2) / SAMPLE_ONE : count;
}

/*
 * What is taken back is taken from the row of another processor; between the reads of both there may
 * be less than nothing.
 */
static uint64_t figures_sum(uint64_t sum)
{
	return sum >> 63 ? 0 : sum;
}

static void figures_lifetimes(const struct trace *trace, uint32_t slot,
			      uint64_t out[static LIFETIME_BUCKETS])
{
	const struct slot_lifetimes *rows = &trace->lifetimes[(size_t)slot * trace->lifetime_rows];

	for (size_t i = 0; i < LIFETIME_BUCKETS; i++) {
		uint64_t sum = 0;

		for (uint32_t row = 0; row < trace->lifetime_rows; row++)
			sum += __atomic_load_n(&rows[row].freed[i], __ATOMIC_RELAXED);
		out[i] += figures_count(trace, slot, figures_sum(sum));
	}
}

/* So many frees were seen at least: a sample stands for more than one. */
static double figures_samples(const struct trace *trace, uint32_t slot, uint64_t frees)
{
	const struct stack_counters *c = &trace->counters[slot];
	double mean = (double)trace->options.sample_bytes, count = (double)c->alloc_count;

	/* What the target weighs itself: by how many bytes it samples is known when there are samples. */
	if (trace->slot_infos[slot].weighed)
		mean = (double)slots_stats(trace, trace->slot_infos[slot].target_id)->tells_every;
	if (!figures_are_estimates(trace, slot) || count <= 0)
		return (double)frees;
	return (double)frees *
	       -expm1(-(double)c->alloc_bytes / (count / SAMPLE_ONE) / (mean > 1 ? mean : 1));
}

void figures_before_walk(struct trace *trace)
{
	uint32_t slots = trace->lifetime_rows ? slots_used(trace) : 0;

	for (uint32_t slot = 0; slot < slots; slot++) {
		uint64_t lifetimes[LIFETIME_BUCKETS] = {0};

		if (!trace->slot_infos[slot].target_id)
			continue;
		figures_lifetimes(trace, slot, lifetimes);
		trace->outlived[slot] = (struct slot_outlived){
			.far_ns = lifetimes_outlived_ns(
				lifetimes,
				figures_samples(trace, slot, lifetimes_count(lifetimes)))};
	}
}

static void figures_read_slot(const struct trace *trace, uint32_t slot,
			      const struct figures_kept *kept, bool walked,
			      struct stack_figures *out)
{
	struct stack_figures f = {0};

	if (kept->lifetimes)
		figures_lifetimes(trace, slot, f.lifetimes);
	if (kept->lifetimes && walked) {
		const struct slot_outlived *row = &trace->outlived[slot];

		f.outlived_ns = row->far_ns;
		f.outlived = (struct amount){row->bytes, figures_count(trace, slot, row->count)};
	}
	if (kept->temporary) {
		const struct slot_temporary *row = &trace->temporaries[slot];

		f.temporary.bytes = __atomic_load_n(&row->bytes, __ATOMIC_RELAXED);
		f.temporary.count =
			figures_count(trace, slot, __atomic_load_n(&row->count, __ATOMIC_RELAXED));
		if (trace->options.sample_bytes)
			f.temporary_error =
				sampling_error(__atomic_load_n(&row->variance, __ATOMIC_RELAXED),
					       trace->options.sample_bytes);
	}
	figures_add(out, &f);
}

/* Of samples that the target tells nobody knows what its threads have allocated in between. */
static struct figures_kept figures_known(const struct trace *trace, const struct target *target)
{
	struct figures_kept kept = trace->options.figures;

	/* A snapshot with a copy of the target's memory has it: user/session/judge.c. */
	kept.usable = false;
	if (target->tells || (target->has_gate && trace->options.sample_bytes))
		kept.temporary = false;
	return kept;
}

int figures_read(struct trace *trace, const struct target *target, struct snapshot *s,
		 const uint32_t *by_slot, uint32_t slots, bool walked,
		 const struct live_clock *clock)
{
	struct size_rows rows = {0};
	int err;

	s->figures_kept = figures_known(trace, target);
	if (!figures_any(&s->figures_kept))
		return 0;
	err = snapshot_add_figures(s);
	if (!err && s->figures_kept.peak)
		peaks_read(trace, target, s, by_slot, slots, clock);
	if (!err && s->figures_kept.sizes &&
	    sizes_read(trace, target->id, s, by_slot, slots,
		       walked ? &trace->skel->bss->shared.clock : NULL, &rows))
		s->figures_kept.sizes = false;
	/* Of the rest blocks without a stack, whose slots come last, have none. */
	if (slots > trace->options.max_stacks)
		slots = trace->options.max_stacks;
	for (uint32_t slot = 0; !err && slot < slots; slot++) {
		if (by_slot[slot] != UINT32_MAX)
			figures_read_slot(trace, slot, &s->figures_kept, walked,
					  s->stacks[by_slot[slot]].figures);
	}
	if (!err && trace->options.group_sizes && s->figures_kept.sizes)
		return size_rows_split(trace, s, &rows);
	size_rows_free(&rows);
	return err;
}
