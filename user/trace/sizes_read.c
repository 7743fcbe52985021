// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/sizes_read.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/trace/slots.h"

/* Entries of one system call. */
#define SIZES_BATCH 4096
/* A twentieth of the tool's time, as for ages. */
#define SIZES_REST 20

struct sizes_walk {
	struct trace *trace;
	struct snapshot *snapshot;
	const uint32_t *by_slot;
	uint32_t target_id, slots;
	struct live_key *keys;
	struct live_value *values;
};

/* How many blocks it stands for, in 2^-16. */
static uint64_t sizes_weight(const struct trace *trace, const struct live_value *value)
{
	return saturate_u64(slots_weight_of_block(trace, value) * SAMPLE_ONE + 0.5);
}

static void sizes_take(const struct sizes_walk *w, const struct live_key *key,
		       const struct live_value *value)
{
	uint32_t slot = slots_of_block(w->trace, value);

	if (key->target_id != w->target_id || slot >= w->slots || w->by_slot[slot] == UINT32_MAX)
		return;
	sizes_add(&w->snapshot->stacks[w->by_slot[slot]].figures->sizes, value->size,
		  sizes_weight(w->trace, value));
}

static int sizes_walk(const struct sizes_walk *w)
{
	int fd = bpf_map__fd(w->trace->skel->maps.live), err;
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
		for (uint32_t i = 0; i < count; i++)
			sizes_take(w, &w->keys[i], &w->values[i]);
	} while (!err);
	return 0;
}

int sizes_read(struct trace *trace, uint32_t target_id, struct snapshot *snapshot,
	       const uint32_t *by_slot, uint32_t slots)
{
	_cleanup_free_ struct live_key *keys = calloc(SIZES_BATCH, sizeof(*keys));
	_cleanup_free_ struct live_value *values = calloc(SIZES_BATCH, sizeof(*values));
	const struct sizes_walk w = {.trace = trace,
				     .snapshot = snapshot,
				     .by_slot = by_slot,
				     .target_id = target_id,
				     .slots = slots,
				     .keys = keys,
				     .values = values};
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = monotonic_ns();
	int err;

	if (!keys || !values)
		return -ENOMEM;
	if (trace->sizes_end_ns && now - trace->sizes_end_ns < SIZES_REST * trace->sizes_ns)
		return -EAGAIN;
	err = sizes_walk(&w);
	trace->sizes_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	trace->sizes_end_ns = monotonic_ns();
	for (size_t i = 0; i < snapshot->stack_count; i++)
		sizes_round(&snapshot->stacks[i].figures->sizes, SAMPLE_ONE);
	return err;
}
