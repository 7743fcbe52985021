// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/blocks/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/live_filter.h"
#include "bpf/scope_abi.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/figures/figures_read.h"
#include "user/heap/heap_image.h"
#include "user/stacks/slots.h"

/* Entries of one system call. A bucket's must fit. */
#define SLICE 16384

struct blocks {
	struct blocks_options options;
	struct blocks_maps maps;
	struct blocks_programs programs;
	struct slots *slots;
	struct figures *figures;
	struct shared *shared;
	struct blocks_walk last;
};

int blocks_new(const struct blocks_options *options, const struct blocks_maps *maps,
	       const struct blocks_programs *programs, struct slots *slots, struct figures *figures,
	       struct shared *shared, struct blocks **out)
{
	struct blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct blocks){*options, *maps, *programs, slots, figures, shared, {0}};
	*out = b;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	free(blocks);
}

int blocks_map(const struct blocks *blocks)
{
	return bpf_map__fd(blocks->maps.live);
}

struct blocks_walk blocks_last_walk(const struct blocks *blocks)
{
	return blocks->last;
}

uint64_t blocks_count(const struct blocks *blocks)
{
	const struct slots *slots = blocks->slots;
	uint32_t used = slots_used(slots);
	uint64_t n = 0, fractions = 0;

	for (uint32_t i = 0; i < used; i++) {
		uint64_t *sum = slots->infos[i].weighed ? &fractions : &n;

		*sum += slots->counters[i].alloc_count;
		*sum -= slots->counters[i].free_count;
	}
	if (blocks->options.sample_bytes)
		n /= SAMPLE_ONE;
	return n + fractions / SAMPLE_ONE;
}

/* ---- in the kernel ------------------------------------------------------------------------ */

/* -ENOENT: it is not loaded. */
static int blocks_run(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = bpf_program__fd(program);

	return fd < 0 ? -ENOENT : bpf_prog_test_run_opts(fd, &opts);
}

int blocks_clock(struct blocks *blocks, struct live_clock *out)
{
	int err = blocks_run(blocks->programs.clock);

	*out = blocks->shared->clock;
	return err;
}

/* ---- in slices ---------------------------------------------------------------------------- */

/* Moves the blocks of a slice that are to be removed to its front, and returns their number. */
typedef uint32_t (*blocks_slice_fn)(struct blocks *blocks, struct live_key *keys,
				    const struct live_value *values, uint32_t count, void *ctx);

/* The blocks are of ended targets: nobody else removes them meanwhile. */
static int blocks_remove(int map_fd, const struct live_key *keys, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t removed = count;

	return count ? bpf_map_delete_batch(map_fd, keys, &removed, &opts) : 0;
}

static int blocks_slices(struct blocks *blocks, blocks_slice_fn fn, void *ctx)
{
	_cleanup_free_ struct live_key *keys = calloc(SLICE, sizeof(*keys));
	_cleanup_free_ struct live_value *values = calloc(SLICE, sizeof(*values));
	int map_fd = blocks_map(blocks), err, failed = 0;
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
		dead = fn(blocks, keys, values, count, ctx);
		failed = failed ?: blocks_remove(map_fd, keys, dead);
	} while (!err);
	return failed;
}

/* ---- ages --------------------------------------------------------------------------------- */

/* The weight of a block as the kernel's programs have it: bpf/live_age.h. */
static uint64_t blocks_weight(const struct blocks *blocks, const struct live_value *value)
{
	const struct blocks_options *o = &blocks->options;
	uint64_t weighed = scope_mark_weighed(value->weighed), mean = o->sample_bytes;

	if (weighed)
		return value->size ? (uint64_t)((double)weighed / (double)value->size * SAMPLE_ONE)
				   : SAMPLE_ONE;
	if (o->sample_levels && value->weighed & LIVE_LEVEL_MARK)
		mean <<= value->weighed & 0xf;
	return (uint64_t)(heap_image_weight(value->size, mean) * SAMPLE_ONE + 0.5);
}

static void blocks_age(struct blocks *blocks, const struct live_value *value,
		       const struct live_clock *clock)
{
	const struct blocks_options *o = &blocks->options;
	uint32_t slot = slots_of_block(blocks->slots, value);
	uint64_t age_ns = live_age_ns(clock, value->time), weight, bytes, count;
	struct slot_age *age = &blocks->slots->ages[slot];

	if (slot >= o->slots)
		return;
	if (!age->oldest_ns || clock->now_ns - age_ns < age->oldest_ns)
		age->oldest_ns = clock->now_ns - age_ns;
	if (age_ns < o->older_ns && !figures_wants_outlived(blocks->figures))
		return;
	weight = blocks_weight(blocks, value);
	bytes = (uint64_t)((unsigned __int128)value->size * weight >> 16);
	count = o->sample_bytes || scope_mark_weighed(value->weighed) ? weight : 1;
	if (age_ns >= o->older_ns) {
		age->older_bytes += bytes;
		age->older_count += count;
	}
	if (figures_wants_outlived(blocks->figures))
		figures_add_old(blocks->figures, slot, age_ns, bytes, count);
}

static uint32_t blocks_slice_ages(struct blocks *blocks, struct live_key *keys,
				  const struct live_value *values, uint32_t count, void *clock)
{
	(void)keys;
	for (uint32_t i = 0; i < count; i++)
		blocks_age(blocks, &values[i], clock);
	return 0;
}

/*
 * Has no target a live block, and had none a moment ago? A block that comes while this looks has no
 * age yet.
 */
static bool blocks_nothing_lives(const struct blocks *blocks)
{
	const struct slots *slots = blocks->slots;

	for (uint32_t slot = 0, end = slots_end(slots); slot < end; slot++) {
		const struct stack_counters *c = &slots->counters[slot];

		if (__atomic_load_n(&c->alloc_count, __ATOMIC_RELAXED) !=
		    __atomic_load_n(&c->free_count, __ATOMIC_RELAXED))
			return false;
	}
	return true;
}

static int blocks_walk_ages(struct blocks *blocks, struct live_clock *clock)
{
	int err = blocks_run(blocks->programs.ages);

	return err ? blocks_slices(blocks, blocks_slice_ages, clock) : 0;
}

int blocks_find_ages(struct blocks *blocks)
{
	struct slots *slots = blocks->slots;
	/* Our own time, not that of others who had the processor meanwhile. */
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct live_clock clock;
	int err = blocks_clock(blocks, &clock);

	figures_before_walk(blocks->figures);
	memset(slots->ages, 0, slots_end(slots) * sizeof(*slots->ages));
	/* The kernel would look at millions of empty chains. */
	if (!err && !blocks_nothing_lives(blocks))
		err = blocks_walk_ages(blocks, &clock);
	blocks->last.ended_ns = monotonic_ns();
	blocks->last.took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return err;
}

/* ---- clearing ----------------------------------------------------------------------------- */

/* The counts of a block beside the live map, which the programs keep by live_remove(). */
static void blocks_forget(struct blocks *blocks, const struct live_key *key, uint64_t *filter)
{
	/* An element takes eight bytes; the count is the first four. */
	uint32_t *row =
		filter ? (uint32_t *)&filter[live_filter_row(key->address, key->target_id)] : NULL;

	if (row)
		__atomic_fetch_sub(row, 1, __ATOMIC_RELAXED);
	if (blocks->options.sample_levels)
		__atomic_fetch_sub(&slots_stats(blocks->slots, key->target_id)->live_samples, 1,
				   __ATOMIC_RELAXED);
	if (blocks->maps.families)
		bpf_map_delete_elem(bpf_map__fd(blocks->maps.families), key);
}

static uint32_t blocks_slice_swept(struct blocks *blocks, struct live_key *keys,
				   const struct live_value *values, uint32_t count, void *filter)
{
	uint32_t dead = 0;

	(void)values;
	for (uint32_t i = 0; i < count; i++) {
		if (!slots_target_swept(blocks->slots, keys[i].target_id))
			continue;
		blocks_forget(blocks, &keys[i], filter);
		keys[dead++] = keys[i];
	}
	return dead;
}

int blocks_sweep(struct blocks *blocks)
{
	const struct bpf_map *map = blocks->maps.live_filter;
	void *filter = NULL;
	int err = blocks_run(blocks->programs.sweep);

	if (!err)
		return 0;
	log_debug("user space clears the live map: %s", strerror(-err));
	err = blocks->options.sample_bytes ? slots_map_array(map, &filter) : 0;
	err = err ?: blocks_slices(blocks, blocks_slice_swept, filter);
	slots_unmap_array(map, filter);
	return err;
}
