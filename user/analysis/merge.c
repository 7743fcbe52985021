// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/merge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/rank.h"
#include "user/base/util.h"
#include "user/model/id_map.h"

bool merge_same_program(const struct snapshot *a, const struct snapshot *b)
{
	return !strncmp(a->comm, b->comm, sizeof(a->comm));
}

static uint64_t merge_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void merge_add_stack(struct stack *to, const struct stack *from)
{
	amount_add(&to->live, &from->live);
	amount_add(&to->alloc, &from->alloc);
	amount_add(&to->free, &from->free);
	amount_add(&to->older, &from->older);
	to->error_bytes = hypot(to->error_bytes, from->error_bytes);
	to->oldest_ns = merge_larger(to->oldest_ns, from->oldest_ns);
	to->delta_bytes += from->delta_bytes;
	to->delta_count += from->delta_count;
	/* Names may have been found in one process only. */
	if (!to->frames && from->frames) {
		to->frames = from->frames;
		to->frame_count = from->frame_count;
	}
}

/* What belongs to the processes themselves. */
static void merge_add_head(struct snapshot *to, const struct snapshot *from)
{
	to->time_ns = merge_larger(to->time_ns, from->time_ns);
	to->elapsed_ns = merge_larger(to->elapsed_ns, from->elapsed_ns);
	to->interval_ns = merge_larger(to->interval_ns, from->interval_ns);
	to->final &= from->final;
	to->children_late |= from->children_late;
	to->unknown_frees += from->unknown_frees;
	/* Of the losses that belong to no target each snapshot has all. */
	for (size_t i = 0; i < LOST_CAUSES; i++)
		to->lost[i] += from->lost[i] - from->lost_anywhere[i];
	to->memory.rss += from->memory.rss;
	to->memory.anon += from->memory.anon;
	to->memory.pss += from->memory.pss;
	to->processes += from->processes ? from->processes : 1;
	to->ended += from->processes ? from->ended : from->exited || from->execed;
}

static int merge_add_stacks(struct snapshot *sum, struct id_map *map, const struct snapshot *from,
			    uint32_t number)
{
	for (size_t i = 0; i < from->stack_count; i++) {
		const struct stack *stack = &from->stacks[i];
		uint32_t at;

		if (id_map_get(map, stack->id, &at)) {
			merge_add_stack(&sum->stacks[at], stack);
			continue;
		}
		at = (uint32_t)sum->stack_count++;
		sum->stacks[at] = *stack;
		sum->stacks[at].index = number;
		sum->stacks[at].trend = (struct trend){0};
		memset(sum->stacks[at].verdict, 0, sizeof(sum->stacks[at].verdict));
		/* Those belong to the process's own snapshot. */
		sum->stacks[at].held_by = sum->stacks[at].contents = NULL;
		sum->stacks[at].contents_len = 0;
		sum->stacks[at].suppressed = 0;
		sum->stacks[at].hidden = false;
		if (id_map_put(map, stack->id, at))
			return -ENOMEM;
	}
	return 0;
}

int merge_snapshots(const struct snapshot *const *list, size_t count, struct snapshot **out)
{
	struct snapshot *sum = calloc(1, sizeof(*sum));
	struct id_map map = {0};
	size_t room = 1;
	int err = 0;

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		room += list[i]->stack_count;
	sum->stacks = calloc(room, sizeof(*sum->stacks));
	if (!sum->stacks) {
		snapshot_free(sum);
		return -ENOMEM;
	}
	sum->target_id = list[0]->target_id;
	sum->pid = list[0]->pid;
	sum->sample_bytes = list[0]->sample_bytes;
	memcpy(sum->comm, list[0]->comm, sizeof(sum->comm));
	memcpy(sum->lost, list[0]->lost_anywhere, sizeof(sum->lost));
	memcpy(sum->lost_anywhere, list[0]->lost_anywhere, sizeof(sum->lost));
	sum->final = true;
	for (size_t i = 0; !err && i < count; i++) {
		merge_add_head(sum, list[i]);
		err = merge_add_stacks(sum, &map, list[i], (uint32_t)i);
	}
	id_map_free(&map);
	if (err) {
		snapshot_free(sum);
		return err;
	}
	sum->exited = sum->ended == sum->processes;
	rank_total(sum);
	*out = sum;
	return 0;
}
