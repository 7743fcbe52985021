// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Some heaps lie in address space that they have reserved for themselves, in a way that nobody else
 * does: the mappings alone, and a word here and there, tell whose they are. No symbol and no file's name
 * is needed, so a stripped program and a core file are as good.
 *
 * Go (runtime/malloc.go, mallocinit()): the first arena is wanted at 0x00c0 << 32 (of aarch64: 0x0040 <<
 * 32), or at one of the same with i << 40 more; arenas are of 64 MiB each. The stacks of goroutines are in it,
 * and of most threads that run them: by these it is told where a newer Go begins elsewhere.
 *
 * PartitionAlloc (partition_alloc_constants.h, "Layout of a super page"): super pages of 2 MiB in a
 * pool of GiBs; each begins with a page of metadata between guards, before the memory of slots at 16 KiB.
 *
 * V8: pages of 256 KiB at such addresses (user/heap/v8_page.h: node). With pointer compression (chromium)
 * they lie in a cage of 4 GiB, and begin with flags and their number in the cage (MemoryChunk; seen in
 * Chromium 156).
 *
 * Oilpan, the heap of C++ objects that JavaScript holds (heap/cppgc/caged-heap.h, heap-page.h): pages at
 * multiples of 128 KiB, in a cage of GiBs too; each begins with the address of its heap's handle.
 */
#include "user/heap/unknown_shapes.h"

#include <string.h>

#include "user/base/util.h"
#include "user/heap/v8_page.h"
#include "user/heap/walker.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

#define GO_ARENA (64 * MIB)
#define GO_HINT	 (1ull << 40) /* hints are so far apart */

#define PARTITION_SUPER_PAGE (2 * MIB)
#define PARTITION_POOL_MIN   GIB

#define V8_CAGE (4 * GIB)
#define V8_SURE 2 /* pages of a cage that have their numbers */

#define OILPAN_PAGE (128ull << 10)
#define OILPAN_SURE 4 /* pages that begin with the same handle */

/* Anonymous memory without a gap: mappings [first, end) of the image's. */
struct shape_run {
	const struct maps *maps;
	size_t first, end;
	uint64_t start, bytes;
};

static bool shape_is_anonymous(const struct mapping *m)
{
	return !m->ino && !m->shared && (!*m->path || !strncmp(m->path, "[anon:", 6));
}

static bool shape_is_guard(const struct mapping *m)
{
	return !m->read && !m->write && !m->exec;
}

/* The run that begins with the mapping. */
static struct shape_run shape_run_at(const struct maps *maps, size_t first)
{
	struct shape_run run = {.maps = maps, .first = first, .end = first + 1};

	while (run.end < maps_count(maps) && shape_is_anonymous(maps_at(maps, run.end)) &&
	       maps_at(maps, run.end)->start == maps_at(maps, run.end - 1)->end)
		run.end++;
	run.start = maps_at(maps, first)->start;
	run.bytes = maps_at(maps, run.end - 1)->end - run.start;
	return run;
}

/* ---- what each looks like ----------------------------------------------------------------- */

static bool shape_has_stack(const struct heap_image *image, const struct shape_run *run)
{
	for (size_t i = 0; i < image->memory->thread_count; i++) {
		if (image->memory->threads[i].sp - run->start < run->bytes)
			return true;
	}
	return false;
}

/* Some of it is in the books of an allocator that is known. */
static bool shape_is_walked(const struct heap_image *image, const struct shape_run *run)
{
	const struct memory_image *memory = image->memory;
	const struct memory_region *r = memory_image_region(memory, run->start);

	for (; image->inventory->covered && r && r < memory->regions + memory->region_count &&
	       r->start - run->start < run->bytes;
	     r++) {
		if (image->inventory->covered[r - memory->regions])
			return true;
	}
	return false;
}

/*
 * At another place it is Go's when a thread runs in it: a run of stacks begins with a guard. Heaps of glibc's
 * arenas lie at such places, too, and programs switch stacks.
 */
static bool shape_is_go(const struct heap_image *image, const struct shape_run *run)
{
	uint64_t hint = run->start % GO_HINT;

	if (run->start % GO_ARENA || run->bytes % GO_ARENA ||
	    !maps_at(run->maps, run->first)->write)
		return false;
	return hint == 0xc0ull << 32 || hint == 0x40ull << 32 ||
	       (shape_has_stack(image, run) && !shape_is_walked(image, run));
}

/* A page of metadata is the second of a super page, or the third. */
static bool shape_is_partition(const struct heap_image *image, const struct shape_run *run)
{
	(void)image;
	if (run->bytes < PARTITION_POOL_MIN)
		return false;
	for (size_t i = run->first + 1; i + 1 < run->end; i++) {
		const struct mapping *m = maps_at(run->maps, i);
		uint64_t at = m->start % PARTITION_SUPER_PAGE;

		if ((at == 0x1000 || at == 0x2000) && m->end - m->start == 0x1000 && m->write &&
		    shape_is_guard(maps_at(run->maps, i - 1)) &&
		    shape_is_guard(maps_at(run->maps, i + 1)) &&
		    maps_at(run->maps, i - 1)->start <= m->start - at)
			return true;
	}
	return false;
}

static bool shape_is_v8_cage(const struct heap_image *image, const struct shape_run *run)
{
	unsigned sure = 0;

	for (size_t i = run->first; run->bytes >= V8_CAGE && i < run->end && sure < V8_SURE; i++) {
		const struct mapping *m = maps_at(run->maps, i);
		const uint64_t *words =
			m->start % V8_PAGE ? NULL : memory_image_words(image->memory, m->start, 2);
		uint64_t number = m->start % V8_CAGE / V8_PAGE;

		sure += words && m->write && number && words[1] == number && words[0] <= UINT32_MAX;
	}
	return sure == V8_SURE;
}

/* Pages of a mapping that begin with that word; a large object has several, of which the first does. */
static unsigned shape_oilpan_pages(const struct heap_image *image, const struct mapping *m,
				   uint64_t handle)
{
	unsigned pages = 0;
	uint64_t word;

	for (uint64_t at = m->start; at < m->end && pages < OILPAN_SURE; at += OILPAN_PAGE) {
		const struct memory_region *r = memory_image_region(image->memory, at);

		if (!r)
			break;
		/* Of a mapping of terabytes that is what takes time. */
		if (r->start > at)
			at += (r->start - at + OILPAN_PAGE - 1) / OILPAN_PAGE * OILPAN_PAGE;
		pages += at < m->end && memory_image_word(image->memory, at, &word) &&
			 word == handle;
	}
	return pages;
}

static bool shape_is_oilpan(const struct heap_image *image, const struct shape_run *run)
{
	uint64_t handle = 0;
	unsigned sure = 0;

	if (run->bytes < V8_CAGE || run->start % V8_CAGE)
		return false;
	for (size_t i = run->first; i < run->end; i++) {
		const struct mapping *m = maps_at(run->maps, i);
		uint64_t word;

		if (!m->write)
			continue;
		if (m->start % OILPAN_PAGE || !memory_image_word(image->memory, m->start, &word) ||
		    !word || (handle && word != handle) || word - run->start < run->bytes)
			return false;
		handle = word;
		sure += sure < OILPAN_SURE ? shape_oilpan_pages(image, m, handle) : 0;
	}
	return sure >= OILPAN_SURE && maps_find(run->maps, handle);
}

struct heap_shape {
	const char *name;
	bool (*is)(const struct heap_image *image, const struct shape_run *run);
};

/* A cage has super pages of PartitionAlloc inside, for what JavaScript shares with C++. */
static const struct heap_shape heap_shapes[] = {
	{"Go", shape_is_go},
	{"V8", shape_is_v8_cage},
	{"Oilpan (Chromium)", shape_is_oilpan},
	{"PartitionAlloc", shape_is_partition},
};

/* ---- what they have ----------------------------------------------------------------------- */

struct shapes_found {
	struct heap_image *image;
	struct inventory_allocator *by_shape[ARRAY_SIZE(heap_shapes)];
};

static struct inventory_allocator *shape_allocator(struct shapes_found *found, size_t shape)
{
	if (!found->by_shape[shape])
		found->by_shape[shape] = walker_allocator(found->image, heap_shapes[shape].name);
	walker_doubt(found->by_shape[shape], "its books are not known");
	return found->by_shape[shape];
}

static int shape_report_run(struct shapes_found *found, size_t shape, const struct shape_run *run)
{
	struct inventory_allocator *allocator = shape_allocator(found, shape);
	int err = 0;

	for (size_t i = run->first; !err && i < run->end; i++) {
		const struct mapping *m = maps_at(run->maps, i);

		if (!shape_is_guard(m))
			err = walker_report(found->image, allocator, INVENTORY_UNBELIEVED, m->start,
					    m->end, UINT64_MAX);
	}
	return err;
}

static bool shape_read_words(void *ctx, uint64_t address, uint64_t *words, size_t count)
{
	const struct heap_image *image = ctx;
	const uint64_t *found = memory_image_words(image->memory, address, count);

	if (found)
		memcpy(words, found, count * sizeof(*words));
	return found;
}

/* Pages that lie side by side are one mapping. */
static int shape_report_v8_pages(struct shapes_found *found, size_t shape, const struct mapping *m)
{
	uint64_t at = m->start, size;
	int err = 0;

	while (!err && at < m->end &&
	       (size = v8_page_size(shape_read_words, found->image, at, m->end - at)) > 0) {
		err = walker_report(found->image, shape_allocator(found, shape),
				    INVENTORY_UNBELIEVED, at, at + size, UINT64_MAX);
		at += (size + V8_PAGE - 1) / V8_PAGE * V8_PAGE;
	}
	return err;
}

/* Somebody has read it, and counted what it has. */
static bool shape_is_read(const struct shapes_found *found, size_t shape)
{
	const struct inventory *inventory = found->image->inventory;

	for (size_t i = 0; !found->by_shape[shape] && i < inventory->count; i++) {
		if (!strcmp(inventory->allocators[i].shown.name, heap_shapes[shape].name))
			return true;
	}
	return false;
}

static int shape_report(struct shapes_found *found, const struct shape_run *run)
{
	int err = 0;

	for (size_t shape = 0; shape < ARRAY_SIZE(heap_shapes); shape++) {
		if (heap_shapes[shape].is(found->image, run))
			return shape_is_read(found, shape) ? 0
							   : shape_report_run(found, shape, run);
	}
	for (size_t i = run->first; !err && i < run->end; i++) {
		const struct mapping *m = maps_at(run->maps, i);

		if (!(m->start % V8_PAGE) && m->read)
			err = shape_report_v8_pages(found, 1, m);
	}
	return err;
}

int unknown_shapes_mark(struct heap_image *image)
{
	struct shapes_found found = {.image = image};
	const struct maps *maps = image->memory->maps;
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		struct shape_run run;

		if (!shape_is_anonymous(maps_at(maps, i)))
			continue;
		run = shape_run_at(maps, i);
		err = shape_report(&found, &run);
		i = run.end - 1;
	}
	return err;
}
