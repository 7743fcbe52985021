// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The target's memory: which there is, and the copy of it. */
#include "user/trace/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "user/base/util.h"
#include "user/process/memory.h"

/* Read at once; between two pieces the clock is looked at. */
#define PIECE (4ull << 20)

/* What may come to be between measuring and stopping. */
#define SLACK (8ull << 20)

/* ---- which memory ------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Devices' memory cannot be read that way; the kernel's own pages hold nothing of the program's. */
static bool is_special(const struct mapping *m)
{
	if (starts_with(m->path, "[v"))
		return true;
	return starts_with(m->path, "/dev/") && !starts_with(m->path, "/dev/shm/") &&
	       !starts_with(m->path, "/dev/zero");
}

static int measure_run(void *ctx, uint64_t start, uint64_t end)
{
	struct capture *c = ctx;

	c->measured += end - start;
	return 0;
}

static int add_run(void *ctx, uint64_t start, uint64_t end)
{
	struct capture *c = ctx;

	if (!RESERVE_ITEM(c->runs, c->run_count, c->run_room, 1024))
		return -ENOMEM;
	c->runs[c->run_count++] = (struct capture_run){start, end, c->scanned};
	return 0;
}

/* A copy has the private memory, but for what is not to be inherited. */
static bool is_copied(const struct capture *c, const struct mapping *m)
{
	return !m->shared && maps_find(c->copy_maps, m->start);
}

static bool any(const struct capture *c, const struct mapping *m)
{
	(void)c;
	(void)m;
	return true;
}

static bool not_copied(const struct capture *c, const struct mapping *m)
{
	return !is_copied(c, m);
}

/*
 * Writable memory, and of what cannot be written (relocated tables, what a program has protected)
 * the pages that are the process's own.
 */
static int scan(struct capture *c, struct resident *resident, const struct maps *maps,
		bool (*wanted)(const struct capture *c, const struct mapping *m),
		int (*fn)(void *ctx, uint64_t start, uint64_t end))
{
	int err = 0;

	for (size_t i = 0; !err && !c->disturbed && i < maps_count(maps); i++) {
		c->scanned = maps_at(maps, i);
		if (!c->scanned->read || is_special(c->scanned) || !wanted(c, c->scanned))
			continue;
		err = resident_scan(resident, c->scanned->start, c->scanned->end,
				    !c->scanned->write, fn, c);
		capture_mind_pause(c);
	}
	return err;
}

/*
 * Memory that has been touched already: the kernel would have to find it page by page while the
 * target waits. In huge pages, which takes a tenth of the time.
 */
static void *map_touched(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_HUGEPAGE);
	/* Linux 5.14; where it fails the pause is longer. */
	madvise(memory, size, MADV_POPULATE_WRITE);
	return memory;
}

int capture_reserve(struct capture *c)
{
	struct maps *maps = NULL;
	char why[REASON_MAX];
	uint64_t left = 0;
	int err = maps_read(c->target->pid, &maps);

	if (!err)
		err = scan(c, c->resident, maps, any, measure_run);
	maps_free(maps);
	if (err)
		return capture_refuse(c, err, "its memory cannot be looked at");
	c->memory->data_size = c->measured + c->measured / 8 + SLACK;
	if (!machine_memory_left(&left) && left / 4 * 3 < c->memory->data_size) {
		snprintf(why, sizeof(why),
			 "a copy of its %llu MiB does not fit into the %llu MiB that this machine "
			 "has left",
			 (unsigned long long)(c->measured >> 20), (unsigned long long)(left >> 20));
		return capture_refuse(c, -ENOMEM, why);
	}
	c->memory->data = map_touched(c->memory->data_size);
	if (!c->memory->data)
		return capture_refuse(c, -ENOMEM, "no memory for a copy of it");
	if (live_table_reserve(&c->live, reader_live_blocks(c->trace)))
		return capture_refuse(c, -ENOMEM, "no memory for its live blocks");
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct capture_run *x = a, *y = b;
	uint64_t size_x = x->end - x->start, size_y = y->end - y->start;

	if (size_x != size_y)
		return size_x < size_y ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_region(struct capture *c, const struct capture_run *run, uint64_t start,
		       const char *data, size_t size)
{
	if (!size)
		return;
	c->memory->regions[c->memory->region_count++] =
		(struct memory_region){.start = start,
				       .size = size,
				       .words = (const uint64_t *)data,
				       .mapping = run->mapping};
}

/* One run, piece by piece. A page that cannot be read after all is left out. */
static void read_run(struct capture *c, const struct resident *from, const struct capture_run *run)
{
	static const uint64_t page = 4096;
	char *to = (char *)c->memory->data + c->used;
	uint64_t begin = run->start, at = run->start;
	size_t used = 0;

	while (at < run->end && !c->disturbed) {
		uint64_t wanted = run->end - at < PIECE ? run->end - at : PIECE;
		size_t got = resident_read(from, at, to + used, wanted) & ~(page - 1);

		at += got;
		used += got;
		capture_mind_pause(c);
		if (got == wanted)
			continue;
		add_region(c, run, begin, to + used - (at - begin), at - begin);
		c->snapshot->verdict.unread_bytes += page;
		at += page;
		begin = at;
	}
	add_region(c, run, begin, to + used - (at - begin), at - begin);
	c->used += used;
}

/*
 * Room for regions: each unreadable page may split a run. More than a few are not expected, and
 * beyond them the rest is unread.
 */
static int make_room(struct capture *c)
{
	size_t room = c->memory->region_count + c->run_count + c->measured / 4096 + 16;
	struct memory_region *grown = reallocarray(c->memory->regions, room, sizeof(*grown));

	if (!grown)
		return capture_refuse(c, -ENOMEM, "no memory for a copy of it");
	c->memory->regions = grown;
	c->region_room = room;
	return 0;
}

static int read_mappings(struct capture *c, struct resident *from,
			 bool (*wanted)(const struct capture *c, const struct mapping *m))
{
	int err;

	c->run_count = 0;
	err = scan(c, from, c->memory->maps, wanted, add_run);
	if (err)
		return capture_refuse(c, err, "its memory cannot be looked at");
	/*
	 * Small things first: what hangs over the limit is then the heap's bulk and not the roots.
	 */
	if (c->run_count)
		qsort(c->runs, c->run_count, sizeof(*c->runs), by_size);
	err = make_room(c);
	for (size_t i = 0; !err && !c->disturbed && i < c->run_count; i++) {
		const struct capture_run *run = &c->runs[i];
		uint64_t size = run->end - run->start;

		if (size > c->memory->data_size - c->used ||
		    c->memory->region_count + size / 4096 + 1 > c->region_room)
			c->snapshot->verdict.unread_bytes += size;
		else
			read_run(c, from, run);
	}
	c->snapshot->verdict.read_bytes = c->used;
	return err;
}

static int take_maps(struct capture *c)
{
	int err = maps_read_watched(c->target->pid, capture_mind_pause, c, &c->memory->maps);

	return err ? capture_refuse(c, err, "its memory cannot be looked at") : 0;
}

void capture_memory_again(struct capture *c)
{
	maps_free(c->memory->maps);
	c->memory->maps = NULL;
	c->memory->region_count = 0;
	c->used = 0;
}

int capture_memory(struct capture *c)
{
	int err = take_maps(c);

	return err ?: read_mappings(c, c->resident, any);
}

int capture_memory_not_copied(struct capture *c)
{
	int err = take_maps(c);

	if (!err && maps_read(c->copy, &c->copy_maps))
		err = capture_refuse(c, -ESRCH, "its copy cannot be looked at");
	return err ?: read_mappings(c, c->resident, not_copied);
}

int capture_memory_copied(struct capture *c)
{
	int err = resident_open(c->copy, &c->copy_resident);

	if (err)
		return capture_refuse(c, err, "its copy cannot be looked at");
	return read_mappings(c, c->copy_resident, is_copied);
}
