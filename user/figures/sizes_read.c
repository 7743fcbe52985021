// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/figures/sizes_read.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/figures/figures_internal.h"
#include "user/stacks/slots.h"

/* Entries of one system call. */
#define SIZES_BATCH 4096
/* A twentieth of the tool's time, as for ages. */
#define SIZES_REST 20
/* One as short as that is done with each snapshot: the last one often comes right after another. */
#define SIZES_SHORT_NS (10 * NS_PER_MS)

struct sizes_walk {
	struct figures *figures;
	struct snapshot *snapshot;
	const uint32_t *by_slot;
	uint32_t target_id, slots;
	struct live_key *keys;
	struct live_value *values;
	const struct live_clock *clock; /* NULL: ages are not known */
	struct size_rows *rows;
};

/* How many blocks it stands for, in 2^-16. */
static uint64_t sizes_weight(const struct figures *figures, const struct live_value *value)
{
	return saturate_u64(slots_weight_of_block(figures->slots, value) * SAMPLE_ONE + 0.5);
}

static int sizes_take(const struct sizes_walk *w, const struct live_key *key,
		      const struct live_value *value)
{
	uint32_t slot = slots_of_block(w->figures->slots, value), stack;
	uint64_t weight;

	if (key->target_id != w->target_id || slot >= w->slots || w->by_slot[slot] == UINT32_MAX)
		return 0;
	stack = w->by_slot[slot];
	weight = sizes_weight(w->figures, value);
	sizes_add(&w->snapshot->stacks[stack].figures->sizes, value->size, weight);
	if (!w->figures->options.group_sizes)
		return 0;
	return size_rows_add(w->rows, stack, value->size, weight,
			     w->clock ? live_age_ns(w->clock, value->time) ?: 1 : 0);
}

static int sizes_walk(const struct sizes_walk *w)
{
	int fd = bpf_map__fd(w->figures->maps.live), err;
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t batch = 0;
	bool more = false;

	do {
		uint32_t count = SIZES_BATCH;

		err = bpf_map_lookup_batch(fd, more ? &batch : NULL, &batch, w->keys, w->values,
					   &count, &opts);
		if (err && err != -ENOENT)
			return err;
		more = true;
		for (uint32_t i = 0; i < count; i++) {
			if (sizes_take(w, &w->keys[i], &w->values[i]))
				return -ENOMEM;
		}
	} while (!err);
	return 0;
}

int sizes_read(struct figures *figures, uint32_t target_id, struct snapshot *snapshot,
	       const uint32_t *by_slot, uint32_t slots, const struct live_clock *clock,
	       struct size_rows *rows)
{
	_cleanup_free_ struct live_key *keys = calloc(SIZES_BATCH, sizeof(*keys));
	_cleanup_free_ struct live_value *values = calloc(SIZES_BATCH, sizeof(*values));
	const struct sizes_walk w = {.figures = figures,
				     .snapshot = snapshot,
				     .by_slot = by_slot,
				     .target_id = target_id,
				     .slots = slots,
				     .keys = keys,
				     .values = values,
				     .clock = clock,
				     .rows = rows};
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = monotonic_ns();
	int err;

	if (!keys || !values)
		return -ENOMEM;
	if (!figures->options.group_sizes && figures->sizes_ns > SIZES_SHORT_NS &&
	    now - figures->sizes_end_ns < SIZES_REST * figures->sizes_ns)
		return -EAGAIN;
	err = sizes_walk(&w);
	figures->sizes_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	figures->sizes_end_ns = monotonic_ns();
	for (size_t i = 0; i < snapshot->stack_count; i++)
		sizes_round(&snapshot->stacks[i].figures->sizes, SAMPLE_ONE);
	return err;
}
