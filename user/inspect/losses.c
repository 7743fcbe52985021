// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/losses.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/process/memory_image.h"

/* More than that nobody looks at, and a recording has to hold them. */
#define CONTENTS_MAX 2000

struct losses {
	const struct heap_image *image;
	const struct packed *group_of;
	struct inspection *out;
};

/* The block hangs on the leader. */
static void losses_keep(void *ctx, uint32_t leader, uint32_t block)
{
	const struct losses *l = ctx;
	const struct amount one = {heap_block_at(l->image, block).size, 1};

	amount_add(&l->out->losses[packed_get(l->group_of, leader)].kept, &one);
}

static int losses_by_bytes(const void *a, const void *b)
{
	const struct inspected_loss *x = a, *y = b;
	uint64_t bytes_x = x->lost.bytes + x->kept.bytes, bytes_y = y->lost.bytes + y->kept.bytes;

	if (bytes_x != bytes_y)
		return bytes_x > bytes_y ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void losses_sum(struct losses *l, struct reach *reach)
{
	struct inspection *out = l->out;
	size_t kept = 0;

	for (size_t i = 0; i < out->group_count; i++)
		out->losses[i].group = i;
	for (size_t i = 0; i < l->image->block_count; i++) {
		const struct amount one = {heap_block_at(l->image, i).size, 1};

		if (reach_class(reach, i) == VERDICT_DEFINITE)
			amount_add(&out->losses[packed_get(l->group_of, i)].lost, &one);
	}
	reach_each_below(reach, losses_keep, l);
	for (size_t i = 0; i < out->group_count; i++) {
		if (out->losses[i].lost.count)
			out->losses[kept++] = out->losses[i];
	}
	out->loss_count = kept;
}

int losses_find(const struct heap_image *image, struct reach *reach, const struct packed *group_of,
		struct inspection *out)
{
	struct losses l = {.image = image, .group_of = group_of, .out = out};
	const struct amount *classes = out->verdict.classes;

	if (!classes[VERDICT_DEFINITE].count)
		return 0;
	out->losses = calloc(out->group_count + 1, sizeof(*out->losses));
	if (!out->losses)
		return -ENOMEM;
	losses_sum(&l, reach);
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
			 const struct packed *group_of, uint32_t bytes, struct inspection *out)
{
	size_t taken = 0;
	int err = 0;

	for (size_t i = 0; !err && taken < CONTENTS_MAX && i < image->block_count; i++) {
		struct inspected_group *group = &out->groups[packed_get(group_of, i)];

		if (group->contents || reach_class(reach, i) != VERDICT_DEFINITE)
			continue;
		err = losses_copy_contents(image, i, bytes, group);
		taken++;
	}
	return err;
}
