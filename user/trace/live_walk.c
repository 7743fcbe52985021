// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/live_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/config.h"
#include "bpf/figures_abi.h"
#include "bpf/live_filter.h"
#include "bpf/scope_abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/figures/figures_read.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"

/* Entries of one system call. A bucket's must fit. */
#define SLICE 16384

/* ---- in the kernel ------------------------------------------------------------------------ */

/* -ENOENT: it is not loaded. */
static int live_walk_run(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = bpf_program__fd(program);

	return fd < 0 ? -ENOENT : bpf_prog_test_run_opts(fd, &opts);
}

int live_walk_clock(struct trace *trace)
{
	return live_walk_run(trace->skel->progs.live_clock_read);
}

/* ---- in slices ---------------------------------------------------------------------------- */

/* A slice's blocks that are to be removed are moved to its front; their number. */
typedef uint32_t (*live_slice_fn)(struct trace *trace, struct live_key *keys,
				  const struct live_value *values, uint32_t count, void *ctx);

/* Of blocks of ended targets: nobody else removes them. */
static int live_walk_remove(int map_fd, const struct live_key *keys, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t removed = count;

	return count ? bpf_map_delete_batch(map_fd, keys, &removed, &opts) : 0;
}

static int live_walk_slices(struct trace *trace, live_slice_fn fn, void *ctx)
{
	_cleanup_free_ struct live_key *keys = calloc(SLICE, sizeof(*keys));
	_cleanup_free_ struct live_value *values = calloc(SLICE, sizeof(*values));
	int map_fd = bpf_map__fd(trace->skel->maps.live), err, failed = 0;
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t batch = 0;
	bool more = false;

	if (!keys || !values)
		return -ENOMEM;
	do {
		uint32_t count = SLICE, dead;

		err = bpf_map_lookup_batch(map_fd, more ? &batch : NULL, &batch, keys, values,
					   &count, &opts);
		if (err && err != -ENOENT)
			return err;
		more = true;
		dead = fn(trace, keys, values, count, ctx);
		failed = failed ?: live_walk_remove(map_fd, keys, dead);
	} while (!err);
	return failed;
}

/* ---- ages --------------------------------------------------------------------------------- */

/* Sums of bytes and blocks as the kernel's programs have them: bpf/live_age.h. */
static uint64_t live_walk_weight(const struct trace *trace, const struct live_value *value)
{
	const struct trace_options *o = &trace->options;
	uint64_t weighed = scope_mark_weighed(value->weighed), mean = o->sample_bytes;

	if (weighed)
		return value->size ? (uint64_t)((double)weighed / (double)value->size * SAMPLE_ONE)
				   : SAMPLE_ONE;
	if (o->sample_levels && value->weighed & LIVE_LEVEL_MARK)
		mean <<= value->weighed & 0xf;
	return (uint64_t)(heap_image_weight(value->size, mean) * SAMPLE_ONE + 0.5);
}

static void live_walk_age(struct trace *trace, const struct live_value *value,
			  const struct live_clock *clock)
{
	const struct trace_options *o = &trace->options;
	uint32_t slot = slots_of_block(trace->slots, value);
	uint64_t age_ns = live_age_ns(clock, value->time), weight, bytes, count;
	struct slot_age *age = &trace->slots->ages[slot];

	if (slot >= o->max_stacks + ABI_TARGET_SLOTS)
		return;
	if (!age->oldest_ns || clock->now_ns - age_ns < age->oldest_ns)
		age->oldest_ns = clock->now_ns - age_ns;
	if (age_ns < o->older_ns && !figures_wants_outlived(trace->figures))
		return;
	weight = live_walk_weight(trace, value);
	bytes = (uint64_t)((unsigned __int128)value->size * weight >> 16);
	count = o->sample_bytes || scope_mark_weighed(value->weighed) ? weight : 1;
	if (age_ns >= o->older_ns) {
		age->older_bytes += bytes;
		age->older_count += count;
	}
	if (figures_wants_outlived(trace->figures))
		figures_add_old(trace->figures, slot, age_ns, bytes, count);
}

static uint32_t live_walk_slice_ages(struct trace *trace, struct live_key *keys,
				     const struct live_value *values, uint32_t count, void *clock)
{
	(void)keys;
	for (uint32_t i = 0; i < count; i++)
		live_walk_age(trace, &values[i], clock);
	return 0;
}

int live_walk_ages(struct trace *trace)
{
	struct live_clock clock = trace->skel->bss->shared.clock;
	int err = live_walk_run(trace->options.scope_count ? trace->skel->progs.scoped_live_ages
							   : trace->skel->progs.live_ages);

	return err ? live_walk_slices(trace, live_walk_slice_ages, &clock) : 0;
}

/* ---- clearing ----------------------------------------------------------------------------- */

/* What programs count of a block beside the live map, by live_remove(). */
static void live_walk_forget(struct trace *trace, const struct live_key *key, uint64_t *filter)
{
	/* An element takes eight bytes; the count is the first four. */
	uint32_t *row =
		filter ? (uint32_t *)&filter[live_filter_row(key->address, key->target_id)] : NULL;

	if (row)
		__atomic_fetch_sub(row, 1, __ATOMIC_RELAXED);
	if (trace->options.sample_levels)
		__atomic_fetch_sub(&slots_stats(trace->slots, key->target_id)->live_samples, 1,
				   __ATOMIC_RELAXED);
	if (trace->options.check_frees)
		bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.families), key);
}

static uint32_t live_walk_slice_swept(struct trace *trace, struct live_key *keys,
				      const struct live_value *values, uint32_t count, void *filter)
{
	uint32_t dead = 0;

	(void)values;
	for (uint32_t i = 0; i < count; i++) {
		if (!slots_target_swept(trace->slots, keys[i].target_id))
			continue;
		live_walk_forget(trace, &keys[i], filter);
		keys[dead++] = keys[i];
	}
	return dead;
}

int live_walk_sweep(struct trace *trace)
{
	const struct bpf_map *map = trace->skel->maps.live_filter;
	void *filter = NULL;
	int err = live_walk_run(trace->skel->progs.live_sweep);

	if (!err)
		return 0;
	log_debug("user space clears the live map: %s", strerror(-err));
	err = trace->options.sample_bytes ? slots_map_array(map, &filter) : 0;
	err = err ?: live_walk_slices(trace, live_walk_slice_swept, filter);
	slots_unmap_array(map, filter);
	return err;
}
