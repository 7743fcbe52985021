// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/heap/held_by.h"
#include "user/heap/walker.h"
#include "user/inspect/hanging.h"

/* Each has a path to be found, with the names of what is on it. */
#define MAPPINGS_HELD 16

struct holders {
	const struct heap_image *image;
	const struct packed *group_of;
	const struct holders_names *names;
	const struct inspect_traced *traced; /* NULL: nobody has watched it */
	struct inspection *out;
	struct held_by held;
};

/* ---- names -------------------------------------------------------------------------------- */

static int holders_name_data(void *ctx, const struct mapping *file, uint64_t address,
			     const char **name, uint64_t *offset, uint64_t *vaddr)
{
	const struct class_files *files = ((struct holders *)ctx)->names->files;
	struct object *object;
	uint64_t at;
	int err = files->object ? files->object(files->ctx, file, &object) : -ENOENT;

	*name = NULL;
	if (err)
		return err;
	err = object_offset_to_vaddr(object, file->offset, &at);
	*vaddr = address - file->start + at;
	if (!err && files->symbolizer)
		err = symbolizer_name_data(files->symbolizer, object, *vaddr, files->pid, name,
					   offset);
	object_unref(object);
	return err;
}

static int holders_name_frame(void *ctx, const struct memory_thread *thread, uint64_t address,
			      const struct frame **out)
{
	const struct holders_names *names = ((struct holders *)ctx)->names;

	return names->frame ? names->frame(names->frame_ctx, thread, address, out) : -ENOENT;
}

static int holders_name_thread_variable(void *ctx, uint64_t address, struct thread_variable *out)
{
	return thread_locals_name(((struct holders *)ctx)->names->locals, address, out);
}

/* A line of what holds a block is one line. */
static const struct text_rules holders_one_line = {.harmful = "?"};

static void holders_put_origin(const struct holders *h, FILE *out, const struct heap_block *block)
{
	const char *function = NULL;
	uint64_t id;

	if (h->traced && h->traced->stack && block->stack < h->traced->stack_count)
		h->traced->stack(h->traced->ctx, block->stack, &id, &function);
	if (!function)
		return;
	fputs(" from ", out);
	text_put(out, function, &holders_one_line);
}

/* What is alike with it says more than a pointer in it. */
static void holders_put_block(void *ctx, FILE *out, uint32_t block)
{
	const struct holders *h = ctx;
	const struct inspected_group *group = &h->out->groups[packed_get(h->group_of, block)];
	const struct heap_block b = heap_block_at(h->image, block);
	char *label = group->kind == GROUP_SIZE ? NULL : inspected_group_label(group);

	holders_put_origin(h, out, &b);
	if (label) {
		fputs(", ", out);
		text_put(out, label, &holders_one_line);
	} else {
		held_by_put_type(&h->held, out, &b);
	}
	free(label);
}

static int holders_put_path(const struct holders *h, uint32_t block, char **held_by)
{
	size_t len = 0;
	FILE *out = open_memstream(held_by, &len);
	int err = out ? held_by_put(&h->held, out, block) : -ENOMEM;

	if (out && close_memstream(out))
		err = -ENOMEM;
	return err;
}

/* ---- of mappings -------------------------------------------------------------------------- */

struct holders_search {
	struct inspected_mapping *mappings; /* the largest first */
	size_t count, found;
	uint64_t from[MAPPINGS_HELD]; /* where a pointer into it is; 0: none has been found */
	uint64_t low, high;	      /* all of them are between */
};

static bool holders_is_dead(const struct heap_image *image, uint64_t address)
{
	size_t i = heap_image_first_dead(image, address);

	return i < image->dead_count && image->dead[i].start <= address;
}

/* A pointer to its beginning is what its owner has; but any other will do where there is none. */
static void holders_take_word(const struct holders *h, struct holders_search *s, uint64_t word,
			      uint64_t from)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct inspected_mapping *m = &s->mappings[i];

		if (s->from[i] || word - m->start >= m->bytes || from - m->start < m->bytes ||
		    holders_is_dead(h->image, from))
			continue;
		s->from[i] = from;
		s->found++;
	}
}

static void holders_search_region(const struct holders *h, struct holders_search *s,
				  const struct memory_region *region)
{
	for (uint64_t i = 0; i < region->size / 8 && s->found < s->count; i++) {
		uint64_t word = region->words[i];

		if (word - s->low < s->high - s->low)
			holders_take_word(h, s, word, region->start + 8 * i);
	}
}

/* Variables tell most of an owner; then come blocks, and stacks. */
static void holders_search(const struct holders *h, struct holders_search *s)
{
	const struct memory_image *memory = h->image->memory;

	for (int data = 1; data >= 0; data--) {
		for (size_t i = 0; i < memory->region_count && s->found < s->count; i++) {
			const struct memory_region *r = &memory->regions[i];

			if (walker_is_data(h->image, r) == data)
				holders_search_region(h, s, r);
		}
	}
}

static int holders_put_owner(const struct holders *h, uint64_t from, char **held_by)
{
	uint32_t block = reach_is_root_inside(h->held.reach, from)
				 ? UINT32_MAX
				 : reach_find(h->held.reach, from);
	size_t len = 0;
	FILE *out;

	if (block != UINT32_MAX && reach_class(h->held.reach, block) == VERDICT_REACHABLE)
		return holders_put_path(h, block, held_by);
	out = open_memstream(held_by, &len);
	if (!out)
		return -ENOMEM;
	if (block == UINT32_MAX)
		held_by_put_root(&h->held, out, from);
	else
		fputs("a block that nothing certain leads to", out);
	return close_memstream(out);
}

static int holders_of_mappings(struct holders *h)
{
	struct holders_search s = {.mappings = h->out->mappings, .low = UINT64_MAX};
	int err = 0;

	s.count = h->out->mapping_count < MAPPINGS_HELD ? h->out->mapping_count : MAPPINGS_HELD;
	for (size_t i = 0; i < s.count; i++) {
		const struct inspected_mapping *m = &s.mappings[i];

		s.low = m->start < s.low ? m->start : s.low;
		s.high = m->start + m->bytes > s.high ? m->start + m->bytes : s.high;
	}
	if (s.count)
		holders_search(h, &s);
	for (size_t i = 0; !err && i < s.count; i++) {
		if (s.from[i])
			err = holders_put_owner(h, s.from[i], &s.mappings[i].held_by);
	}
	return err;
}

int holders_find(const struct heap_image *image, struct reach *reach, struct hanging_kinds *kinds,
		 const struct holders_names *names, const struct inspect_traced *traced,
		 struct inspection *out)
{
	struct holders h = {
		.image = image,
		.group_of = kinds->group_of,
		.names = names,
		.traced = traced,
		.out = out,
		.held = {.image = image, .reach = reach},
	};
	int err;

	h.held.names = (struct held_names){
		.ctx = &h,
		.data = holders_name_data,
		.frame = holders_name_frame,
		.thread_variable = holders_name_thread_variable,
		.block = holders_put_block,
		.heap = "heap that is no block",
	};
	err = hanging_find(&h.held, reach, kinds, out);
	return err ?: holders_of_mappings(&h);
}
