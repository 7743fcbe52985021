/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --scope: allocations and frees count for the call of the block's birth, while that is open. Only
 * the programs of bpf/scoped.bpf.c have that; the others do not hold an instruction of it.
 */
#ifndef MEMLEAKBPF_BPF_SCOPE_BOOKS_H
#define MEMLEAKBPF_BPF_SCOPE_BOOKS_H

#include "bpf/abi.h"
#include "bpf/config.h"
#include "bpf/scope_abi.h"
#include <bpf/bpf_helpers.h>

#ifndef MEMLEAKBPF_SCOPES
#define SCOPES			     false
#define SCOPES_ONLY		     false
#define scope_count_alloc(block)     ((void)(block))
#define scope_count_free(block)	     ((void)(block))
#define scope_count_kept(block)	     ((void)(block))
#define scope_count_resized(b, size) ((void)(b))
#else
#define SCOPES	    true
#define SCOPES_ONLY scope_config.only /* --scope-only */

#include "bpf/loss.h"
#include "bpf/sample.h"

const volatile struct scope_config scope_config __attribute__((weak)) = {};
const volatile struct scope_tag_spec scope_specs[SCOPE_SPECS] __attribute__((weak)) = {};
struct scope_shared scope_shared __attribute__((weak)) = {};

/* Without --scope the maps have one row each; resized. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct scope_stack);
	__uint(max_entries, 1);
} scope_stacks __weak SEC(".maps");

static __always_inline struct scope_frame *scope_frame_at(struct scope_stack *stack, uint64_t index)
{
	if (index >= SCOPE_DEPTH)
		return NULL;
	/* The compiler must not compute the place before it has compared. */
	barrier_var(index);
	return &stack->frames[index & (SCOPE_DEPTH - 1)];
}

/* In the units of the counters. */
static __always_inline void scope_weigh(uint64_t *bytes, uint64_t *count)
{
	uint64_t weight;

	*count = 1;
	if (!config.sample_bytes)
		return;
	weight = sample_weight(*bytes);
	*bytes = (*bytes * weight) >> 16;
	*count = weight;
}

/*
 * Finds the innermost open call in which a block with that mark was born. Returns 1 + twice its
 * depth, and 1 more if the block is its own; 0: there is none. Any thread may ask. (If the call
 * ends at this very moment the block counts as kept.)
 */
__weak __noinline uint64_t scope_find_open(uint64_t mark)
{
	uint32_t row = scope_mark_row(mark), i;
	struct scope_stack *stack = bpf_map_lookup_elem(&scope_stacks, &row);
	uint64_t seq = mark & SCOPE_SEQ_MASK, at;

	if (!stack)
		return 0;
	at = stack->depth;
	for (i = 0; i < SCOPE_DEPTH; i++) {
		struct scope_frame *frame = scope_frame_at(stack, --at);

		if (!frame)
			return 0;
		if (frame->seq <= seq)
			return 1 + 2 * at + (frame->seq == seq);
	}
	return 0;
}

/* The sums of that call, for any block's mark; NULL: there is none. */
static __always_inline struct scope_sums *scope_sums_of(uint64_t mark)
{
	uint64_t found = mark & SCOPE_MARK ? scope_find_open(mark) : 0;
	uint32_t row = scope_mark_row(mark);
	struct scope_stack *stack;
	struct scope_frame *frame;

	if (!found)
		return NULL;
	stack = bpf_map_lookup_elem(&scope_stacks, &row);
	frame = stack ? scope_frame_at(stack, (found - 1) / 2) : NULL;
	if (!frame)
		return NULL;
	return (found - 1) & 1 ? &frame->own : &frame->nested;
}

static __always_inline void scope_count_alloc(const struct live_value *block)
{
	uint64_t bytes = block->size, count;
	struct scope_sums *sums;

	sums = scope_sums_of(block->weighed);
	if (!sums)
		return;
	scope_weigh(&bytes, &count);
	__sync_fetch_and_add(&sums->alloc_bytes, bytes);
	__sync_fetch_and_add(&sums->alloc_count, count);
	if (config.sample_bytes)
		__sync_fetch_and_add(&sums->variance, sample_variance(block->size, count));
}

static __always_inline void scope_add_free(const struct live_value *block, int sign)
{
	uint64_t bytes = block->size, count;
	struct scope_sums *sums;

	sums = scope_sums_of(block->weighed);
	if (!sums)
		return;
	scope_weigh(&bytes, &count);
	__sync_fetch_and_add(&sums->free_bytes, sign * bytes);
	__sync_fetch_and_add(&sums->free_count, sign * count);
	if (config.sample_bytes)
		__sync_fetch_and_add(&sums->variance, -sign * sample_variance(block->size, count));
}

static __always_inline void scope_count_free(const struct live_value *block)
{
	scope_add_free(block, 1);
}

/* Takes a free back. */
static __always_inline void scope_count_kept(const struct live_value *block)
{
	scope_add_free(block, -1);
}

/* The block goes on with another size. */
static __always_inline void scope_count_resized(const struct live_value *block, uint64_t new_bytes)
{
	struct live_value resized = *block;
	struct scope_sums *sums;

	if (config.sample_bytes) {
		scope_count_free(block);
		resized.size = new_bytes;
		scope_count_alloc(&resized);
		return;
	}
	sums = scope_sums_of(block->weighed);
	if (!sums)
		return;
	if (new_bytes < block->size)
		__sync_fetch_and_add(&sums->free_bytes, block->size - new_bytes);
	else
		__sync_fetch_and_add(&sums->alloc_bytes, new_bytes - block->size);
}
#endif

/* How many bytes the block stands for, by the target; 0: the target does not say. */
static __always_inline uint64_t live_weighed(const struct live_value *block)
{
	if (SCOPES)
		return scope_mark_weighed(block->weighed);
	return config.sample_levels && block->weighed & LIVE_LEVEL_MARK ? 0 : block->weighed;
}

/* For a block without a weight: it was drawn by 2^this times the mean. */
static __always_inline uint64_t live_level(const struct live_value *block)
{
	return !SCOPES && config.sample_levels ? block->weighed & 0xf : 0;
}

#endif
