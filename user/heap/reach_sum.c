// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What reachability says of each block, summed up by stack. */
#include <math.h>

#include "user/heap/heap_image.h"
#include "user/heap/reach_internal.h"
#include "user/model/snapshot.h"
#include "user/process/memory_image.h"

/* Counts with 16 fractional bits, as the kernel's are under sampling. */
static struct amount reach_weighed(const struct heap_image *image, const struct heap_block *block)
{
	double weight = heap_image_weight_of(image, block);

	return (struct amount){(uint64_t)llround((double)block->size * weight),
			       (uint64_t)llround(65536 * weight)};
}

static void reach_round(struct amount *amount)
{
	amount->count = (amount->count + 32768) >> 16;
}

static void reach_round_counts(struct amount classes[VERDICT_CLASSES])
{
	for (int i = 0; i < VERDICT_CLASSES; i++)
		reach_round(&classes[i]);
}

/*
 * A runtime keeps its arenas for as long as it likes, so each is reachable, whatever is in it. One stands
 * for itself alone, under sampling too.
 */
static void reach_sum_arenas(const struct heap_image *image, struct snapshot *snapshot)
{
	for (size_t i = 0; i < image->arena_count; i++) {
		const struct heap_block *arena = &image->arenas[i];
		const struct amount one = {arena->size, 1};

		amount_add(&snapshot->verdict.classes[VERDICT_REACHABLE], &one);
		if (arena->stack < snapshot->stack_count)
			amount_add(&snapshot->stacks[arena->stack].verdict[VERDICT_REACHABLE],
				   &one);
	}
}

/* Does the block lie in an arena? *at: of the arenas, and of blocks in the order of their addresses. */
static bool reach_in_arena(const struct heap_image *image, const struct heap_block *block,
			   size_t *at)
{
	while (*at < image->arena_count &&
	       image->arenas[*at].address + image->arenas[*at].size <= block->address)
		(*at)++;
	return *at < image->arena_count && image->arenas[*at].address <= block->address;
}

static void reach_add_thread(struct unjoined_threads *to, const struct heap_ended *ended, bool held)
{
	to->count++;
	to->bytes += ended->bytes;
	to->resident += ended->resident;
	to->held += held;
}

void reach_unjoined(const struct reach *r, struct unjoined_threads *to)
{
	const struct heap_image *image = reach_image(r);

	for (size_t i = 0; i < image->ended_count; i++) {
		if (image->ended[i].unjoined)
			reach_add_thread(to, &image->ended[i], reach_is_held(r, i));
	}
}

/* pthread_create() has allocated its vector of thread-local blocks: the second word of its control block is in it. */
static uint32_t reach_stack_of_thread(const struct reach *r, const struct heap_ended *ended)
{
	const struct heap_image *image = reach_image(r);
	uint32_t block = UINT32_MAX;
	uint64_t vector;

	if (memory_image_word(image->memory, ended->block + 8, &vector))
		block = reach_find(r, vector);
	return block == UINT32_MAX ? HEAP_NO_STACK : heap_block_at(image, block).stack;
}

static void reach_sum_threads(const struct reach *r, struct snapshot *snapshot)
{
	const struct heap_image *image = reach_image(r);

	reach_unjoined(r, &snapshot->verdict.unjoined);
	for (size_t i = 0; i < image->ended_count; i++) {
		const struct heap_ended *ended = &image->ended[i];
		uint32_t stack = ended->unjoined ? reach_stack_of_thread(r, ended) : HEAP_NO_STACK;

		if (stack < snapshot->stack_count)
			reach_add_thread(&snapshot->stacks[stack].unjoined, ended,
					 reach_is_held(r, i));
	}
}

/* Of whom reach_each_below() tells. */
struct reach_keeping {
	const struct heap_image *image;
	struct snapshot *snapshot;
};

/* The block hangs on the leader, which may be from before the attach: that no stack has. */
static void reach_keep(void *ctx, uint32_t leader, uint32_t block)
{
	const struct reach_keeping *k = ctx;
	const struct heap_block one = heap_block_at(k->image, block);
	uint32_t stack = heap_block_at(k->image, leader).stack;
	struct amount weighed;

	if (stack >= k->snapshot->stack_count)
		return;
	weighed = reach_weighed(k->image, &one);
	amount_add(&k->snapshot->stacks[stack].kept, &weighed);
	if (one.stack < k->snapshot->stack_count)
		amount_add(&k->snapshot->stacks[one.stack].hangs, &weighed);
}

static void reach_sum_kept(struct reach *r, struct snapshot *snapshot)
{
	struct reach_keeping k = {reach_image(r), snapshot};

	if (!snapshot->verdict.classes[VERDICT_INDIRECT].count)
		return;
	reach_each_below(r, reach_keep, &k);
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		reach_round(&snapshot->stacks[i].kept);
		reach_round(&snapshot->stacks[i].hangs);
	}
}

void reach_sum(struct reach *r, struct snapshot *snapshot)
{
	const struct heap_image *image = reach_image(r);
	size_t at = 0;

	for (size_t i = 0; i < image->block_count; i++) {
		const struct heap_block block = heap_block_at(image, i);
		const struct amount one = reach_weighed(image, &block);
		enum verdict_class class = reach_class(r, i);

		/* Its bytes are the arena's, and count once; that nothing leads to it is said nowhere else. */
		if (block.stack == HEAP_OLD && class == VERDICT_REACHABLE &&
		    reach_in_arena(image, &block, &at))
			continue;
		if (block.stack == HEAP_OLD) {
			snapshot->verdict.before[class].bytes += block.size;
			snapshot->verdict.before[class].count++;
			continue;
		}
		amount_add(&snapshot->verdict.classes[class], &one);
		if (block.stack < snapshot->stack_count)
			amount_add(&snapshot->stacks[block.stack].verdict[class], &one);
	}
	reach_round_counts(snapshot->verdict.classes);
	for (size_t i = 0; i < snapshot->stack_count; i++)
		reach_round_counts(snapshot->stacks[i].verdict);
	reach_sum_kept(r, snapshot);
	reach_sum_arenas(image, snapshot);
	reach_sum_threads(r, snapshot);
	snapshot->verdict.unknown_bytes = reach_unknown_bytes(r);
}
