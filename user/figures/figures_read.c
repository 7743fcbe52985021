// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/figures/figures_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "bpf/figures_abi.h"
#include "user/model/snapshot.h"
#include "user/figures/figures_internal.h"
#include "user/figures/peaks.h"
#include "user/stacks/sampling.h"
#include "user/figures/sizes_read.h"
#include "user/stacks/slots.h"

_Static_assert(LIFETIME_CLASSES == LIFETIME_BUCKETS,
	       "the model has them as the programs count them");

/* A power of two: programs take the processor's number modulo it. */
static uint32_t figures_lifetime_rows(void)
{
	int cpus = libbpf_num_possible_cpus();
	uint32_t rows = 1;

	while (rows < LIFETIME_ROWS_MAX && (int)rows < cpus)
		rows *= 2;
	return rows;
}

static int figures_configure(struct figures *f, struct config *config)
{
	const struct figures_options *o = &f->options;
	uint32_t rows = o->kept.lifetimes ? figures_lifetime_rows() : 0;
	int err = 0;

	config->lifetimes = f->lifetime_rows = rows;
	config->temporary = o->kept.temporary;
	if (rows) {
		err = bpf_map__set_max_entries(f->maps.lifetimes, o->max_stacks * rows);
		err = err ?: bpf_map__set_max_entries(f->maps.outlived, o->max_stacks);
	}
	if (o->kept.temporary)
		err = err ?: bpf_map__set_max_entries(f->maps.temporaries, o->max_stacks);
	config->peak = o->kept.peak;
	if (o->kept.peak) {
		err = err
			      ?: bpf_map__set_max_entries(f->maps.slot_peaks,
							  o->max_stacks + ABI_TARGET_SLOTS);
		err = err ?: bpf_map__set_max_entries(f->maps.target_peaks, ABI_TARGET_SLOTS);
	}
	return err;
}

int figures_new(const struct figures_options *options, const struct figures_maps *maps,
		struct config *config, struct figures **out)
{
	struct figures *figures = *out = calloc(1, sizeof(*figures));

	if (!figures)
		return -ENOMEM;
	figures->options = *options;
	figures->maps = *maps;
	return figures_configure(figures, config);
}

int figures_start(struct figures *f, const struct slots *slots, struct stack_table *stacks)
{
	int err;

	f->slots = slots;
	f->stacks = stacks;
	err = slots_map_array(f->maps.lifetimes, (void **)&f->lifetimes);
	err = err ?: slots_map_array(f->maps.outlived, (void **)&f->outlived);
	err = err ?: slots_map_array(f->maps.temporaries, (void **)&f->temporaries);
	err = err ?: slots_map_array(f->maps.slot_peaks, (void **)&f->slot_peaks);
	return err ?: slots_map_array(f->maps.target_peaks, (void **)&f->target_peaks);
}

void figures_free(struct figures *f)
{
	if (!f)
		return;
	slots_unmap_array(f->maps.lifetimes, f->lifetimes);
	slots_unmap_array(f->maps.outlived, f->outlived);
	slots_unmap_array(f->maps.temporaries, f->temporaries);
	slots_unmap_array(f->maps.slot_peaks, f->slot_peaks);
	slots_unmap_array(f->maps.target_peaks, f->target_peaks);
	free(f);
}

void figures_release_slot(void *ctx, uint32_t slot)
{
	struct figures *f = ctx;
	uint32_t rows = f->lifetime_rows;

	if (rows) {
		memset(&f->lifetimes[(size_t)slot * rows], 0, rows * sizeof(*f->lifetimes));
		memset(&f->outlived[slot], 0, sizeof(*f->outlived));
	}
	if (f->options.kept.temporary)
		memset(&f->temporaries[slot], 0, sizeof(*f->temporaries));
	if (f->options.kept.peak)
		f->slot_peaks[slot] = 0;
}

bool figures_wants_outlived(const struct figures *figures)
{
	return figures->lifetime_rows;
}

void figures_add_old(struct figures *figures, uint32_t slot, uint64_t age_ns, uint64_t bytes,
		     uint64_t count)
{
	struct slot_outlived *row = &figures->outlived[slot];

	if (slot >= figures->options.max_stacks || !row->far_ns || age_ns < row->far_ns)
		return;
	row->bytes += bytes;
	row->count += count;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Their counts have 16 fractional bits. */
static bool figures_are_estimates(const struct figures *figures, uint32_t slot)
{
	return figures->options.sample_bytes || figures->slots->infos[slot].weighed;
}

static uint64_t figures_count(const struct figures *figures, uint32_t slot, uint64_t count)
{
	return figures_are_estimates(figures, slot) ? (count + SAMPLE_ONE / 2) / SAMPLE_ONE : count;
}

/*
 * What is taken back is taken from the row of another processor; between the reads of both there may
 * be less than nothing.
 */
static uint64_t figures_sum(uint64_t sum)
{
	return sum >> 63 ? 0 : sum;
}

static void figures_lifetimes(const struct figures *figures, uint32_t slot,
			      uint64_t out[static LIFETIME_BUCKETS])
{
	const struct slot_lifetimes *rows =
		&figures->lifetimes[(size_t)slot * figures->lifetime_rows];

	for (size_t i = 0; i < LIFETIME_BUCKETS; i++) {
		uint64_t sum = 0;

		for (uint32_t row = 0; row < figures->lifetime_rows; row++)
			sum += __atomic_load_n(&rows[row].freed[i], __ATOMIC_RELAXED);
		out[i] += figures_count(figures, slot, figures_sum(sum));
	}
}

/* So many frees were seen at least: a sample stands for more than one. */
static double figures_samples(const struct figures *figures, uint32_t slot, uint64_t frees)
{
	const struct stack_counters *c = &figures->slots->counters[slot];
	double mean = (double)figures->options.sample_bytes, count = (double)c->alloc_count;

	/* What the target weighs itself: by how many bytes it samples is known when there are samples. */
	if (figures->slots->infos[slot].weighed)
		mean = (double)slots_stats(figures->slots, figures->slots->infos[slot].target_id)
			       ->tells_every;
	if (!figures_are_estimates(figures, slot) || count <= 0)
		return (double)frees;
	return (double)frees *
	       -expm1(-(double)c->alloc_bytes / (count / SAMPLE_ONE) / (mean > 1 ? mean : 1));
}

void figures_before_walk(struct figures *figures)
{
	uint32_t slots = figures->lifetime_rows ? slots_used(figures->slots) : 0;

	for (uint32_t slot = 0; slot < slots; slot++) {
		uint64_t lifetimes[LIFETIME_BUCKETS] = {0};

		if (!figures->slots->infos[slot].target_id)
			continue;
		figures_lifetimes(figures, slot, lifetimes);
		figures->outlived[slot] = (struct slot_outlived){
			.far_ns = lifetimes_outlived_ns(
				lifetimes,
				figures_samples(figures, slot, lifetimes_count(lifetimes)))};
	}
}

static void figures_read_slot(const struct figures *figures, uint32_t slot,
			      const struct figures_kept *kept, bool walked,
			      struct stack_figures *out)
{
	struct stack_figures f = {0};

	if (kept->lifetimes)
		figures_lifetimes(figures, slot, f.lifetimes);
	if (kept->lifetimes && walked) {
		const struct slot_outlived *row = &figures->outlived[slot];

		f.outlived_ns = row->far_ns;
		f.outlived = (struct amount){row->bytes, figures_count(figures, slot, row->count)};
	}
	if (kept->temporary) {
		const struct slot_temporary *row = &figures->temporaries[slot];

		f.temporary.bytes = __atomic_load_n(&row->bytes, __ATOMIC_RELAXED);
		f.temporary.count = figures_count(figures, slot,
						  __atomic_load_n(&row->count, __ATOMIC_RELAXED));
		if (figures->options.sample_bytes)
			f.temporary_error =
				sampling_error(__atomic_load_n(&row->variance, __ATOMIC_RELAXED),
					       figures->options.sample_bytes);
	}
	figures_add(out, &f);
}

/* Of samples that the target tells nobody knows what its threads have allocated in between. */
static struct figures_kept figures_known(const struct figures *figures,
					 const struct figures_target *target)
{
	struct figures_kept kept = figures->options.kept;

	/* A snapshot with a copy of the target's memory has it: user/session/judge.c. */
	kept.usable = false;
	if (target->told)
		kept.temporary = false;
	return kept;
}

int figures_read(struct figures *figures, const struct figures_target *target, struct snapshot *s,
		 const uint32_t *by_slot, uint32_t slots, const struct live_clock *walked,
		 const struct live_clock *clock)
{
	struct size_rows rows = {0};
	int err;

	s->figures_kept = figures_known(figures, target);
	if (!figures_any(&s->figures_kept))
		return 0;
	err = snapshot_add_figures(s);
	if (!err && s->figures_kept.peak)
		peaks_read(figures, target, s, by_slot, slots, clock);
	if (!err && s->figures_kept.sizes &&
	    sizes_read(figures, target->id, s, by_slot, slots, walked, &rows))
		s->figures_kept.sizes = false;
	/* Of the rest blocks without a stack, whose slots come last, have none. */
	if (slots > figures->options.max_stacks)
		slots = figures->options.max_stacks;
	for (uint32_t slot = 0; !err && slot < slots; slot++) {
		if (by_slot[slot] != UINT32_MAX)
			figures_read_slot(figures, slot, &s->figures_kept, walked,
					  s->stacks[by_slot[slot]].figures);
	}
	if (!err && figures->options.group_sizes && s->figures_kept.sizes)
		return size_rows_split(figures, s, &rows);
	size_rows_free(&rows);
	return err;
}
