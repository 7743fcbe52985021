/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that keep books of their blocks ("block ADDRESS SIZE KIND NAME" a line, then "ready"), and
 * their memory as an image with these blocks. Include after cmocka.h.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_INSPECT_INSPECTED_H
#define MEMLEAKBPF_TESTS_UNIT_INSPECT_INSPECTED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sides.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/freeze.h"
#include "user/inspect/classes.h"

/* What the program says of a block. */
struct booked {
	uint64_t address, size;
	char kind[16], name[400];
};

struct inspected {
	struct side side;
	struct booked *books; /* by address */
	size_t count, room;
	struct heap_image *image;
	struct object_cache *objects;
	struct symbolizer *symbolizer;
	struct block_classes *classes;
	/* From one look to the next; NULL: each has its own. */
	struct object_cache *lent;
	struct kept_types *kept;
};

static inline int booked_order(const void *a, const void *b)
{
	const struct booked *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static inline void inspected_read_books(struct inspected *p)
{
	char line[600];

	while (side_says(&p->side, line, sizeof(line))) {
		struct booked *b;

		assert_true(RESERVE_ITEM(p->books, p->count, p->room, 1024));
		b = &p->books[p->count++];
		assert_int_equal(sscanf(line, "block %" SCNx64 " %" SCNu64 " %15s %399[^\n]",
					&b->address, &b->size, b->kind, b->name),
				 4);
	}
	assert_true(p->count > 0);
	qsort(p->books, p->count, sizeof(*p->books), booked_order);
}

/* As side_start(), up to its "ready". */
static inline void inspected_start(struct inspected *p, const struct sides *sides,
				   const char *command)
{
	*p = (struct inspected){.count = 0};
	side_start(&p->side, sides, command);
	inspected_read_books(p);
}

/* Its memory, as it stands. */
static inline void inspected_freeze(struct inspected *p)
{
	const struct freeze_hooks hooks = {.ctx = NULL};
	char reason[REASON_MAX] = "";
	struct freeze *freeze;

	assert_int_equal(freeze_new(p->side.pid, &freeze, reason), 0);
	if (freeze_run(freeze, 60 * NS_PER_S, NULL, &hooks, reason))
		fail_msg("%s", reason);
	p->image = heap_image_new(freeze_take_memory(freeze));
	assert_non_null(p->image);
	freeze_free(freeze);
	p->image->entered = calloc(p->count, sizeof(*p->image->entered));
	assert_non_null(p->image->entered);
	for (size_t i = 0; i < p->count; i++)
		p->image->entered[p->image->block_count++] = (struct heap_block){
			.address = p->books[i].address,
			.size = p->books[i].size,
			.stack = HEAP_NO_STACK,
		};
	heap_image_finish(p->image);
	assert_int_equal(p->image->block_count, p->count);
}

static inline void inspected_classify(struct inspected *p)
{
	const struct symbolizer_options options = {.inlines = false};
	struct class_process process = {.pid = p->side.pid, .root_fd = -1};
	struct class_files files = {
		.ctx = &process, .object = class_process_object, .pid = p->side.pid};

	files.types = p->kept;
	p->objects = process.objects = p->lent ?: object_cache_new();
	p->symbolizer = files.symbolizer = symbolizer_new(&options);
	assert_true(p->objects && p->symbolizer);
	assert_int_equal(block_classes_find(p->image, &files, &p->classes), 0);
	assert_int_equal(p->classes->block_count, p->count);
}

static inline void inspected_end(struct inspected *p)
{
	block_classes_free(p->classes);
	symbolizer_free(p->symbolizer);
	heap_image_free(p->image);
	if (!p->lent)
		object_cache_free(p->objects);
	free(p->books);
	side_end(&p->side);
}

static inline const struct inspected_group *inspected_group_of(const struct inspected *p,
							       size_t block)
{
	assert_true(packed_get(&p->classes->group, block) < p->classes->group_count);
	return &p->classes->groups[packed_get(&p->classes->group, block)];
}

/* Each group's sums are those of its blocks, and each of its blocks is one of it: no block is nowhere. */
static inline void inspected_sums_agree(const struct inspected *p)
{
	struct amount *sums = calloc(p->classes->group_count + 1, sizeof(*sums));

	assert_non_null(sums);
	for (size_t i = 0; i < p->count; i++) {
		inspected_group_of(p, i);
		sums[packed_get(&p->classes->group, i)].count++;
		sums[packed_get(&p->classes->group, i)].bytes += p->books[i].size;
	}
	for (size_t i = 0; i < p->classes->group_count; i++) {
		assert_true(sums[i].count > 0);
		assert_int_equal(sums[i].count, p->classes->groups[i].live.count);
		assert_int_equal(sums[i].bytes, p->classes->groups[i].live.bytes);
	}
	free(sums);
}

#endif
