// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/memory_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/process/guard_memory.h"
#include "user/process/maps_data.h"
#include "user/process/own_memory.h"

/* Read at once; between two pieces the clock is looked at. */
#define PIECE (4ull << 20)

/* What may come to be between measuring and stopping. */
#define SLACK (8ull << 20)

/* ---- which memory ------------------------------------------------------------------------- */

static bool memory_copy_path_begins(const struct mapping *m, const char *prefix)
{
	return !strncmp(m->path, prefix, strlen(prefix));
}

/*
 * Devices' memory cannot be read that way. The kernel's own pages hold nothing of the program's,
 * nor do the guards' copies. (Pages that the guards' pool does not have are not read, so no guard
 * is disarmed.)
 */
static bool memory_copy_is_special(const struct mapping *m)
{
	if (memory_copy_path_begins(m, "[v") || guard_memory_is_saved(m))
		return true;
	return memory_copy_path_begins(m, "/dev/") && !memory_copy_path_begins(m, "/dev/shm/") &&
	       !memory_copy_path_begins(m, "/dev/zero");
}

static int memory_copy_measure_run(void *ctx, uint64_t start, uint64_t end)
{
	struct memory_copy *c = ctx;

	c->measured += end - start;
	return 0;
}

static int memory_copy_add_run(void *ctx, uint64_t start, uint64_t end)
{
	struct memory_copy *c = ctx;

	if (!RESERVE_ITEM(c->runs, c->run_count, c->run_room, 1024))
		return -ENOMEM;
	c->runs[c->run_count++] = (struct memory_copy_run){start, end, c->scanned};
	return 0;
}

/* A fork has the private memory, except what is not to be inherited. */
static bool memory_copy_is_forked(const struct memory_copy *c, const struct mapping *m)
{
	return !m->shared && maps_find(c->fork_maps, m->start);
}

static bool memory_copy_is_any(const struct memory_copy *c, const struct mapping *m)
{
	(void)c;
	(void)m;
	return true;
}

static bool memory_copy_is_not_forked(const struct memory_copy *c, const struct mapping *m)
{
	return !memory_copy_is_forked(c, m);
}

static void memory_copy_look_up(void *ctx)
{
	struct memory_copy *c = ctx;

	if (c->between && !c->between(c->ctx))
		c->ended = true;
}

/*
 * Finds writable memory, and the process's own pages of read-only memory (relocated tables, what a
 * program has protected).
 */
static int memory_copy_scan(struct memory_copy *c, struct resident *resident,
			    const struct maps *maps,
			    bool (*wanted)(const struct memory_copy *c, const struct mapping *m),
			    int (*fn)(void *ctx, uint64_t start, uint64_t end))
{
	int err = 0;

	for (size_t i = 0; !err && !c->ended && i < maps_count(maps); i++) {
		c->scanned = maps_at(maps, i);
		if (!c->scanned->read || memory_copy_is_special(c->scanned) ||
		    !wanted(c, c->scanned))
			continue;
		err = resident_scan(resident, c->scanned->start, c->scanned->end,
				    !c->scanned->write, fn, c);
		memory_copy_look_up(c);
	}
	return err;
}

/*
 * Maps memory and touches it: otherwise the kernel would find it page by page while the process
 * waits. In huge pages, which takes a tenth of the time.
 */
static void *memory_copy_map_touched(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_HUGEPAGE);
	/*
	 * Otherwise it would be shared with the process that holds the target, and copied as it is
	 * filled.
	 */
	madvise(memory, size, MADV_DONTFORK);
	/* Linux 5.14; where it fails the pause is longer. */
	madvise(memory, size, MADV_POPULATE_WRITE);
	return memory;
}

static int memory_copy_measure(struct memory_copy *c, char reason[static REASON_MAX])
{
	struct maps *maps = NULL;
	int err = resident_open(c->pid, &c->resident);

	/* Only the owner may read the file in /proc, ptrace or not. */
	if (err == -EACCES)
		return refuse(reason, err,
			      "/proc/PID/pagemap may not be read: it is another user's, and "
			      "CAP_DAC_READ_SEARCH is missing");
	if (!err)
		err = maps_read(c->pid, &maps);
	if (!err)
		err = memory_copy_scan(c, c->resident, maps, memory_copy_is_any,
				       memory_copy_measure_run);
	maps_free(maps);
	return err ? refuse(reason, err, "its memory cannot be looked at") : 0;
}

static int memory_copy_refuse_size(const struct memory_copy *c, uint64_t left,
				   char reason[static REASON_MAX])
{
	char limit[96];

	if (own_memory_limit(limit, sizeof(limit)))
		return refuse(
			reason, -ENOMEM,
			"a copy of its %llu MiB does not fit into the %llu MiB that %s leaves "
			"memleakbpf; raise that, or run it in another control group",
			(unsigned long long)(c->measured >> 20), (unsigned long long)(left >> 20),
			limit);
	return refuse(reason, -ENOMEM,
		      "a copy of its %llu MiB does not fit into the %llu MiB that this machine has "
		      "left",
		      (unsigned long long)(c->measured >> 20), (unsigned long long)(left >> 20));
}

int memory_copy_reserve(struct memory_copy *c, pid_t pid, char reason[static REASON_MAX])
{
	uint64_t left = 0;
	int err;

	*c = (struct memory_copy){.pid = pid, .image = memory_image_new()};
	if (!c->image)
		return refuse(reason, -ENOMEM, "no memory");
	err = memory_copy_measure(c, reason);
	if (err)
		return err;
	c->image->data_size = c->measured + c->measured / 8 + SLACK;
	if (!own_memory_left(&left) && left / 4 * 3 < c->image->data_size)
		return memory_copy_refuse_size(c, left, reason);
	c->image->data = memory_copy_map_touched(c->image->data_size);
	return c->image->data ? 0 : refuse(reason, -ENOMEM, "no memory for a copy of it");
}

void memory_copy_release(struct memory_copy *c)
{
	memory_image_free(c->image);
	resident_close(c->resident);
	resident_close(c->fork_resident);
	maps_free(c->fork_maps);
	free(c->runs);
	*c = (struct memory_copy){0};
}

/* ---- the copy of it ----------------------------------------------------------------------- */

static int memory_copy_by_size(const void *a, const void *b)
{
	const struct memory_copy_run *x = a, *y = b;
	uint64_t size_x = x->end - x->start, size_y = y->end - y->start;

	if (size_x != size_y)
		return size_x < size_y ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void memory_copy_add_region(struct memory_copy *c, const struct memory_copy_run *run,
				   uint64_t start, const char *data, size_t size)
{
	if (!size)
		return;
	c->image->regions[c->image->region_count++] =
		(struct memory_region){.start = start,
				       .size = size,
				       .words = (const uint64_t *)data,
				       .mapping = run->mapping};
}

/* Reads one run, piece by piece. Leaves out a page that cannot be read after all. */
static void memory_copy_read_run(struct memory_copy *c, const struct resident *from,
				 const struct memory_copy_run *run)
{
	const uint64_t page = page_size();
	char *to = (char *)c->image->data + c->used;
	uint64_t begin = run->start, at = run->start;
	size_t used = 0;

	while (at < run->end && !c->ended) {
		uint64_t wanted = run->end - at < PIECE ? run->end - at : PIECE;
		size_t got = page_down(resident_read(from, at, to + used, wanted), page);

		at += got;
		used += got;
		memory_copy_look_up(c);
		if (got == wanted)
			continue;
		memory_copy_add_region(c, run, begin, to + used - (at - begin), at - begin);
		c->unread_bytes += page;
		at += page;
		begin = at;
	}
	memory_copy_add_region(c, run, begin, to + used - (at - begin), at - begin);
	c->used += used;
}

static uint64_t memory_copy_wanted(const struct memory_copy *c)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < c->run_count; i++)
		bytes += c->runs[i].end - c->runs[i].start;
	return bytes;
}

/* Room for regions: each unreadable page may split a run. */
static int memory_copy_make_room(struct memory_copy *c)
{
	size_t room =
		c->image->region_count + c->run_count + memory_copy_wanted(c) / page_size() + 16;
	struct memory_region *grown = reallocarray(c->image->regions, room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->image->regions = grown;
	return 0;
}

/*
 * Makes room for memory that is new since the measurement: a process that is just starting grows by
 * more than any slack. Without memory for it the largest runs are left unread.
 */
static void memory_copy_grow(struct memory_copy *c)
{
	char *old = c->image->data, *grown;
	uint64_t size = c->used + memory_copy_wanted(c), left;

	if (size <= c->image->data_size ||
	    (!own_memory_left(&left) && left / 4 * 3 < size - c->image->data_size))
		return;
	grown = mremap(old, c->image->data_size, size, MREMAP_MAYMOVE);
	if (grown == MAP_FAILED)
		return;
	c->image->data = grown;
	c->image->data_size = size;
	for (size_t i = 0; i < c->image->region_count; i++) {
		struct memory_region *r = &c->image->regions[i];

		r->words = (const uint64_t *)(grown + ((const char *)r->words - old));
	}
}

/*
 * Blocks that only unread memory points to count as lost. So nothing is said of a process whose
 * memory went in the midst of the read. It may go on before all is read, and end, or execute
 * another program; and its fork may be killed.
 */
static int memory_copy_check_there(const struct memory_copy *c, const struct resident *from,
				   char reason[static REASON_MAX])
{
	if (c->ended || resident_is_there(from))
		return 0;
	return refuse(reason, -ESRCH,
		      from == c->resident ? "it has ended, or become another program, before all "
					    "of its memory had been read"
					  : "its copy was killed before all of it had been read");
}

static int memory_copy_read_mappings(struct memory_copy *c, struct resident *from,
				     bool (*wanted)(const struct memory_copy *c,
						    const struct mapping *m),
				     char reason[static REASON_MAX])
{
	int err;

	c->run_count = 0;
	err = memory_copy_scan(c, from, c->image->maps, wanted, memory_copy_add_run);
	if (err)
		return memory_copy_check_there(c, from, reason)
			       ?: refuse(reason, err, "its memory cannot be looked at");
	/* Small runs first: at the limit the heap's bulk is left out, and not the roots. */
	if (c->run_count)
		qsort(c->runs, c->run_count, sizeof(*c->runs), memory_copy_by_size);
	if (memory_copy_make_room(c))
		return refuse(reason, -ENOMEM, "no memory for a copy of it");
	memory_copy_grow(c);
	for (size_t i = 0; !c->ended && i < c->run_count; i++) {
		const struct memory_copy_run *run = &c->runs[i];
		uint64_t size = run->end - run->start;

		if (size > c->image->data_size - c->used)
			c->unread_bytes += size;
		else
			memory_copy_read_run(c, from, run);
	}
	return memory_copy_check_there(c, from, reason);
}

static int memory_copy_note_there(void *ctx, uint64_t start, uint64_t end)
{
	*(uint64_t *)ctx += end - start;
	return 0;
}

/*
 * Reads only pages in memory: a file's other pages may have to come from a server that never
 * answers.
 */
static size_t memory_copy_get(void *ctx, uint64_t address, void *to, size_t size)
{
	const struct memory_copy *c = ctx;
	uint64_t start = page_down(address, page_size()), end, there = 0;

	if (__builtin_add_overflow(address, size + page_size() - 1, &end))
		return 0;
	end = page_down(end, page_size());
	if (resident_scan(c->resident, start, end, false, memory_copy_note_there, &there) ||
	    there != end - start)
		return 0;
	return resident_read(c->resident, address, to, size);
}

static int memory_copy_take_maps(struct memory_copy *c, char reason[static REASON_MAX])
{
	int err = maps_read_watched(c->pid, memory_copy_look_up, c, &c->image->maps);

	err = err ?: maps_cut_data(c->image->maps, memory_copy_get, c);

	return err ? refuse(reason, err, "its memory cannot be looked at") : 0;
}

void memory_copy_fit(struct memory_copy *c)
{
	size_t fitting = page_up(c->used ?: 1, page_size());

	if (fitting < c->image->data_size &&
	    !munmap((char *)c->image->data + fitting, c->image->data_size - fitting))
		c->image->data_size = fitting;
}

void memory_copy_forget(struct memory_copy *c)
{
	maps_free(c->image->maps);
	c->image->maps = NULL;
	c->image->region_count = 0;
	c->used = 0;
	c->unread_bytes = 0;
	c->ended = false;
}

int memory_copy_read(struct memory_copy *c, char reason[static REASON_MAX])
{
	int err = memory_copy_take_maps(c, reason);

	return err ?: memory_copy_read_mappings(c, c->resident, memory_copy_is_any, reason);
}

int memory_copy_read_unforked(struct memory_copy *c, pid_t fork, char reason[static REASON_MAX])
{
	int err = memory_copy_take_maps(c, reason);

	if (!err && maps_read(fork, &c->fork_maps))
		err = refuse(reason, -ESRCH, "its copy cannot be looked at");
	return err ?: memory_copy_read_mappings(c, c->resident, memory_copy_is_not_forked, reason);
}

int memory_copy_read_forked(struct memory_copy *c, pid_t fork, char reason[static REASON_MAX])
{
	int err = resident_open(fork, &c->fork_resident);

	if (err)
		return refuse(reason, err, "its copy cannot be looked at");
	return memory_copy_read_mappings(c, c->fork_resident, memory_copy_is_forked, reason);
}
