// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/heap_image.h"

/* Names of functions take time: of more groups than that only those are named that have such a part of all. */
#define GROUPS_NAMED 1000

struct origins {
	const struct heap_image *image;
	const struct inspect_traced *traced;
	const struct packed *group_of;
	uint32_t *blocks; /* those that were seen being allocated, group by group */
	size_t *ends;	  /* by group: where its blocks end; they begin where the ones before end */
	struct amount *sums;  /* by stack; all 0 between two groups */
	uint64_t least_named; /* bytes */
};

/* Sorts the blocks by group, with `only_lost` those alone that nothing leads to. */
static void origins_sort(struct origins *o, const struct reach *only_lost, size_t groups)
{
	size_t at = 0;

	memset(o->ends, 0, (groups + 1) * sizeof(*o->ends));
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < o->image->block_count; i++) {
			if (heap_block_at(o->image, i).stack == HEAP_OLD ||
			    (only_lost && reach_class(only_lost, i) != VERDICT_DEFINITE))
				continue;
			if (pass)
				o->blocks[o->ends[packed_get(o->group_of, i)]++] = (uint32_t)i;
			else
				o->ends[packed_get(o->group_of, i)]++;
		}
		/* What was counted is where each begins, and the second pass moves that to its end. */
		for (size_t g = 0; !pass && g < groups; g++) {
			size_t count = o->ends[g];

			o->ends[g] = at;
			at += count;
		}
	}
}

static int origins_name(const struct origins *o, uint32_t stack, struct inspected_origin *to)
{
	const char *function = NULL;

	if (!o->traced->stack || to->most.bytes < o->least_named)
		return 0;
	o->traced->stack(o->traced->ctx, stack, &to->stack_id, &function);
	if (!function)
		return 0;
	to->function = strdup(function);
	return to->function ? 0 : -ENOMEM;
}

static int origins_of_group(struct origins *o, size_t group, struct inspected_origin *to)
{
	size_t begin = group ? o->ends[group - 1] : 0;
	uint32_t best = HEAP_NO_STACK;

	for (size_t i = begin; i < o->ends[group]; i++) {
		const struct heap_block block = heap_block_at(o->image, o->blocks[i]);
		const struct amount one = {block.size, 1};

		amount_add(&to->traced, &one);
		if (block.stack >= o->traced->stack_count)
			continue;
		amount_add(&o->sums[block.stack], &one);
		if (best == HEAP_NO_STACK || o->sums[block.stack].bytes > o->sums[best].bytes)
			best = block.stack;
	}
	if (best != HEAP_NO_STACK)
		to->most = o->sums[best];
	for (size_t i = begin; i < o->ends[group]; i++) {
		const struct heap_block block = heap_block_at(o->image, o->blocks[i]);

		if (block.stack < o->traced->stack_count)
			o->sums[block.stack] = (struct amount){0};
	}
	return best != HEAP_NO_STACK ? origins_name(o, best, to) : 0;
}

static int origins_of_all(struct origins *o, const struct reach *reach, struct inspection *out)
{
	uint64_t all = 0;
	int err = 0;

	for (int class = 0; class < VERDICT_CLASSES; class ++)
		all += out->verdict.classes[class].bytes;
	o->least_named = out->group_count > GROUPS_NAMED ? all / GROUPS_NAMED : 0;
	origins_sort(o, NULL, out->group_count);
	for (size_t i = 0; !err && i < out->group_count; i++)
		err = origins_of_group(o, i, &out->groups[i].origin);
	if (!err && out->loss_count)
		origins_sort(o, reach, out->group_count);
	for (size_t i = 0; !err && i < out->loss_count; i++)
		err = origins_of_group(o, out->losses[i].group, &out->losses[i].origin);
	return err;
}

int origins_find(const struct heap_image *image, const struct reach *reach,
		 const struct packed *group_of, const struct inspect_traced *traced,
		 struct inspection *out)
{
	struct origins o = {.image = image, .traced = traced, .group_of = group_of};
	int err = -ENOMEM;

	o.blocks = malloc((image->block_count + 1) * sizeof(*o.blocks));
	o.ends = malloc((out->group_count + 1) * sizeof(*o.ends));
	o.sums = calloc(traced->stack_count + 1, sizeof(*o.sums));
	if (o.blocks && o.ends && o.sums)
		err = origins_of_all(&o, reach, out);
	free(o.blocks);
	free(o.ends);
	free(o.sums);
	return err;
}
