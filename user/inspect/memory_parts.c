// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/memory_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

/* ---- what the allocators have ------------------------------------------------------------- */

static int memory_parts_take_allocators(const struct inventory *inventory, struct inspection *out)
{
	uint64_t *parts = out->parts;

	out->allocators = calloc(inventory->count + 1, sizeof(*out->allocators));
	if (!out->allocators)
		return -ENOMEM;
	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_allocator *a = &inventory->allocators[i];
		uint64_t used = a->resident[INVENTORY_IN_USE];

		out->allocators[out->allocator_count++] = a->shown;
		parts[MEMORY_SLACK] += a->slack_resident;
		parts[MEMORY_IN_USE] += used > a->slack_resident ? used - a->slack_resident : 0;
		parts[MEMORY_FREE] += a->resident[INVENTORY_FREE] + a->resident[INVENTORY_CACHED];
		parts[MEMORY_BOOKS] += a->resident[INVENTORY_BOOKS];
		parts[MEMORY_UNBELIEVED] += a->resident[INVENTORY_UNBELIEVED];
		parts[MEMORY_STACKS] += a->resident[INVENTORY_STACKS];
	}
	return 0;
}

/* ---- what they do not have ---------------------------------------------------------------- */

/* A stack that libc keeps for the next thread is dead from end to end, and no allocator's. */
static bool memory_parts_is_dead(const struct heap_image *image, const struct mapping *m)
{
	size_t i = heap_image_first_dead(image, m->start);

	return i < image->dead_count && image->dead[i].start <= m->start &&
	       image->dead[i].end >= m->end;
}

static enum memory_part memory_parts_kind(const struct heap_image *image,
					  const struct memory_region *region, uint64_t covered)
{
	const struct mapping *m = region->mapping;

	if (m->ino)
		return MEMORY_FILE_PRIVATE;
	if (!strncmp(m->path, "[stack", 6) || memory_image_has_stack(image->memory, m) ||
	    (!covered && memory_parts_is_dead(image, m)))
		return MEMORY_STACKS;
	/* .bss */
	if (strcmp(m->path, "[heap]") != 0 && walker_is_data(image, region))
		return MEMORY_FILE_PRIVATE;
	return MEMORY_ANONYMOUS;
}

/* Of one mapping after the other: its regions stand together. */
static int memory_parts_add_mapping(struct inspection *out, size_t *room,
				    const struct mapping *mapping, uint64_t bytes)
{
	struct inspected_mapping *last = NULL;

	if (out->mapping_count)
		last = &out->mappings[out->mapping_count - 1];
	if (last && last->start == mapping->start) {
		last->resident += bytes;
		return 0;
	}
	if (!RESERVE_ITEM(out->mappings, out->mapping_count, *room, 64))
		return -ENOMEM;
	last = &out->mappings[out->mapping_count++];
	*last = (struct inspected_mapping){
		.start = mapping->start,
		.bytes = mapping->end - mapping->start,
		.resident = bytes,
	};
	if (!*mapping->path)
		return 0;
	last->name = strdup(mapping->path);
	return last->name ? 0 : -ENOMEM;
}

static int memory_parts_by_size(const void *a, const void *b)
{
	const struct inspected_mapping *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident > y->resident ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* What of each region no allocator has. */
static int memory_parts_take_rest(const struct heap_image *image, struct inspection *out,
				  uint64_t *in_files)
{
	const struct memory_image *memory = image->memory;
	size_t room = 0;
	int err = 0;

	for (size_t i = 0; !err && i < memory->region_count; i++) {
		const struct memory_region *region = &memory->regions[i];
		const struct mapping *m = region->mapping;
		uint64_t covered = image->inventory->covered[i], left = region->size;
		enum memory_part part;

		if (!m || m->shared)
			continue;
		left -= memory_image_untouched(memory, region->start, region->start + region->size);
		left = left > covered ? left - covered : 0;
		part = memory_parts_kind(image, region, covered);
		/* Not all of a file's pages that are there are the process's own. */
		if (m->ino)
			*in_files += covered;
		else
			out->parts[part] += left;
		if (part == MEMORY_ANONYMOUS && left)
			err = memory_parts_add_mapping(out, &room, m, left);
	}
	if (out->mapping_count)
		qsort(out->mappings, out->mapping_count, sizeof(*out->mappings),
		      memory_parts_by_size);
	return err;
}

int memory_parts_find(const struct heap_image *image, const struct inspect_source *source,
		      struct inspection *out)
{
	uint64_t known = 0, in_files = 0, all = source->rss_anon + source->swap;
	int err = memory_parts_take_allocators(image->inventory, out);

	err = err ?: memory_parts_take_rest(image, out, &in_files);
	if (err)
		return err;
	if (source->file_private > in_files)
		out->parts[MEMORY_FILE_PRIVATE] += source->file_private - in_files;
	for (int i = 0; i < MEMORY_REST; i++)
		known += out->parts[i];
	out->parts[MEMORY_REST] = all > known ? all - known : 0;
	return 0;
}
