// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/losses.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

#define LEADER_UNKNOWN UINT32_MAX

/* More than that nobody looks at, and a recording has to hold them. */
#define CONTENTS_MAX 2000

struct losses {
	const struct heap_image *image;
	const struct reach *reach;
	uint32_t *leader; /* by block: the definitely lost one that it hangs on */
};

/*
 * Each block is walked over twice at most: what is found is kept for all on the way. A walk that a
 * target's lies have made endless comes to an end at a block of another class, or where all blocks have
 * been seen.
 */
static uint32_t losses_leader_of(struct losses *l, uint32_t block)
{
	uint32_t at = block, leader;
	size_t steps = 0;

	while (at != UINT32_MAX && l->leader[at] == LEADER_UNKNOWN &&
	       reach_class(l->reach, at) == VERDICT_INDIRECT && steps++ < l->image->block_count)
		at = reach_find(l->reach, reach_holder(l->reach, at));
	if (at == UINT32_MAX)
		return LEADER_UNKNOWN;
	if (l->leader[at] != LEADER_UNKNOWN)
		leader = l->leader[at];
	else if (reach_class(l->reach, at) == VERDICT_DEFINITE)
		leader = at;
	else
		return LEADER_UNKNOWN;
	for (at = block; at != leader && l->leader[at] == LEADER_UNKNOWN;
	     at = reach_find(l->reach, reach_holder(l->reach, at)))
		l->leader[at] = leader;
	return leader;
}

static int losses_by_bytes(const void *a, const void *b)
{
	const struct inspected_loss *x = a, *y = b;
	uint64_t bytes_x = x->lost.bytes + x->kept.bytes, bytes_y = y->lost.bytes + y->kept.bytes;

	if (bytes_x != bytes_y)
		return bytes_x > bytes_y ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void losses_sum(struct losses *l, const uint32_t *group_of, struct inspection *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->group_count; i++)
		out->losses[i].group = i;
	for (size_t i = 0; i < l->image->block_count; i++) {
		const struct amount one = {heap_block_at(l->image, i).size, 1};
		enum verdict_class class = reach_class(l->reach, i);
		uint32_t leader;

		if (class == VERDICT_DEFINITE)
			amount_add(&out->losses[group_of[i]].lost, &one);
		if (class != VERDICT_INDIRECT)
			continue;
		leader = losses_leader_of(l, (uint32_t)i);
		if (leader != LEADER_UNKNOWN)
			amount_add(&out->losses[group_of[leader]].kept, &one);
	}
	for (size_t i = 0; i < out->group_count; i++) {
		if (out->losses[i].lost.count)
			out->losses[kept++] = out->losses[i];
	}
	out->loss_count = kept;
}

int losses_find(const struct heap_image *image, const struct reach *reach, const uint32_t *group_of,
		struct inspection *out)
{
	struct losses l = {.image = image, .reach = reach};
	const struct amount *classes = out->verdict.classes;

	if (!classes[VERDICT_DEFINITE].count)
		return 0;
	out->losses = calloc(out->group_count + 1, sizeof(*out->losses));
	l.leader = malloc((image->block_count + 1) * sizeof(*l.leader));
	if (!out->losses || !l.leader) {
		free(l.leader);
		return -ENOMEM;
	}
	for (size_t i = 0; i < image->block_count; i++)
		l.leader[i] = LEADER_UNKNOWN;
	losses_sum(&l, group_of, out);
	free(l.leader);
	if (out->loss_count)
		qsort(out->losses, out->loss_count, sizeof(*out->losses), losses_by_bytes);
	return 0;
}

static int losses_copy_contents(const struct heap_image *image, size_t block, uint32_t bytes,
				struct inspected_group *group)
{
	const uint64_t address = heap_block_address(image, block);
	uint64_t size = heap_block_end(image, block) - address;
	size_t n = size < bytes ? (size_t)size : bytes;

	group->contents = calloc(n + 1, 1);
	if (!group->contents)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = address + i, word;

		if (!memory_image_word(image->memory, at & ~7ull, &word))
			break;
		group->contents[group->contents_len++] = (char)(word >> at % 8 * 8);
	}
	return 0;
}

int losses_take_contents(const struct heap_image *image, const struct reach *reach,
			 const uint32_t *group_of, uint32_t bytes, struct inspection *out)
{
	size_t taken = 0;
	int err = 0;

	for (size_t i = 0; !err && taken < CONTENTS_MAX && i < image->block_count; i++) {
		struct inspected_group *group = &out->groups[group_of[i]];

		if (group->contents || reach_class(reach, i) != VERDICT_DEFINITE)
			continue;
		err = losses_copy_contents(image, i, bytes, group);
		taken++;
	}
	return err;
}
