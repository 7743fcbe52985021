// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A core does not say which pages were there: memory that was never touched is in it as zeros. The
 * kernel makes holes of such pages, where the file system can. gcore writes files without holes,
 * and so does all that fills holes on the way. A page of zeros in such a file may have been written
 * or not. It can be read, for allocators' books may lie in it, and counts as not resident.
 *
 * Memory is mapped if nobody but us can change the file, and words are aligned in it (gcore puts
 * segments anywhere). All else is copied: walkers check a word before they use it.
 */
#include "user/corefile/core_image.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/corefile/core_objects.h"
#include "user/process/own_memory.h"

#define PIECE (1u << 20)

/* Memory in a row, from one source. */
struct core_run {
	uint64_t start, end;
	uint64_t offset; /* in the core, or in the mapped file */
	int fd;
	bool mapped; /* used where it lies in the mapped core */
	const struct mapping *mapping;
};

struct core_image {
	struct memory_image *image;
	const struct core_notes *notes;
	const struct core_segments *segments;
	struct core_run *runs;
	size_t count, room;
	bool may_map; /* nobody else can change the file */
	bool sparse;  /* it has holes */
	uint8_t *piece;
	uint64_t copied, zero;
};

/* ---- which memory ------------------------------------------------------------------------- */

static int core_image_add(struct core_image *c, struct core_run run)
{
	/* Words begin at multiples of 8, and do not end in the middle. */
	uint64_t skip = -run.start & 7;

	if (run.end - run.start < skip + 8)
		return 0;
	run.start += skip;
	run.offset += skip;
	run.end &= ~7ull;
	if (run.start >= run.end)
		return 0;
	run.mapped = run.fd == c->segments->fd && c->may_map && !(run.offset % 8);
	if (!run.mapped)
		c->copied += run.end - run.start;
	if (!RESERVE_ITEM(c->runs, c->count, c->room, 1024))
		return -ENOMEM;
	c->runs[c->count++] = run;
	return 0;
}

/* A part of the run, by bytes from its beginning. */
static int core_image_add_part(struct core_image *c, const struct core_run *run, uint64_t from,
			       uint64_t to)
{
	struct core_run part = *run;

	part.start += from;
	part.offset += from;
	part.end = run->start + to;
	return core_image_add(c, part);
}

/* Adds the parts that are not in holes, in whole pages. */
static int core_image_add_data(struct core_image *c, const struct core_run *run)
{
	const uint64_t page = page_size(), size = run->end - run->start;
	uint64_t at = 0;
	int err = 0;

	while (!err && at < size) {
		off_t data = lseek(run->fd, (off_t)(run->offset + at), SEEK_DATA), hole;
		uint64_t from, to;

		if (data < 0 && errno == ENXIO)
			return 0;
		hole = data < 0 ? -1 : lseek(run->fd, data, SEEK_HOLE);
		if (hole < 0)
			return core_image_add_part(c, run, at, size);
		if ((uint64_t)data >= run->offset + size)
			return 0;
		from = page_down((uint64_t)data - run->offset, page);
		to = page_up((uint64_t)hole - run->offset, page);
		from = from > at ? from : at;
		to = to < size ? to : size;
		err = core_image_add_part(c, run, from, to);
		at = to;
	}
	return err;
}

static bool core_image_is_zero(const uint8_t *bytes, size_t size)
{
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

static int core_image_add_untouched(struct core_image *c, uint64_t start, uint64_t end)
{
	struct memory_image *image = c->image;
	struct memory_range *last =
		image->untouched_count ? &image->untouched[image->untouched_count - 1] : NULL;

	c->zero += end - start;
	if (last && last->end == start) {
		last->end = end;
		return 0;
	}
	if (!RESERVE_ITEM(image->untouched, image->untouched_count, image->untouched_room, 64))
		return -ENOMEM;
	image->untouched[image->untouched_count++] = (struct memory_range){start, end};
	return 0;
}

/* Adds all of it, and notes the pages of zeros. */
static int core_image_add_written(struct core_image *c, const struct core_run *run)
{
	const uint64_t page = page_size(), size = run->end - run->start;
	uint64_t at = 0;
	int err = 0;

	while (!err && at < size) {
		size_t wanted = size - at < PIECE ? (size_t)(size - at) : PIECE;
		ssize_t got = pread(run->fd, c->piece, wanted, (off_t)(run->offset + at));

		if (got <= 0)
			break;
		for (size_t i = 0; !err && i < (size_t)got; i += page) {
			size_t left = (size_t)got - i < page ? (size_t)got - i : (size_t)page;

			if (core_image_is_zero(c->piece + i, left))
				err = core_image_add_untouched(c, run->start + at + i,
							       run->start + at + i + left);
		}
		at += (uint64_t)got;
	}
	return err || !at ? err : core_image_add_part(c, run, 0, at);
}

/* ---- of segments -------------------------------------------------------------------------- */

static bool core_image_is_special(const struct mapping *m)
{
	return !strncmp(m->path, "[v", 2) ||
	       (!strncmp(m->path, "/dev/", 5) && strncmp(m->path, "/dev/shm/", 9) != 0 &&
		strncmp(m->path, "/dev/zero", 9) != 0);
}

/*
 * For a file that is mapped for reading: adds the pages that are the process's own (relocated
 * tables), as far as the program headers tell.
 */
static int core_image_add_read_only(struct core_image *c, const struct core_object *o,
				    const struct core_run *run)
{
	const uint64_t page = page_size(), size = run->end - run->start;
	uint64_t begin = UINT64_MAX;
	int err = 0;

	for (uint64_t at = 0; !err && at < size; at += page) {
		bool own = core_object_may_be_written(o, run->mapping->offset + at);

		if (own && begin == UINT64_MAX)
			begin = at;
		if (!own && begin != UINT64_MAX) {
			err = core_image_add_part(c, run, begin, at);
			begin = UINT64_MAX;
		}
	}
	return begin == UINT64_MAX || err ? err : core_image_add_part(c, run, begin, size);
}

/* A program's data that was never written to is in its file, and not in the core. */
static int core_image_add_from_file(struct core_image *c, const struct core_object *o,
				    const struct core_segment *s, const struct mapping *m)
{
	if (!o->object || !s->write || m->shared || s->filled || s->cut)
		return 0;
	return core_image_add(c, (struct core_run){
					 .start = s->start,
					 .end = s->end,
					 .offset = m->offset,
					 .fd = object_fd(o->object),
					 .mapping = m,
				 });
}

static int core_image_add_segment(struct core_image *c, const struct core_segment *s)
{
	const struct core_mapped_file *f = core_notes_file(c->notes, s->start);
	const struct core_object *o = f ? &c->notes->objects[f->object] : NULL;
	const struct mapping *m = maps_find(c->image->maps, s->start);
	uint64_t end = s->start + s->filled;
	struct core_run run = {
		.start = s->start, .offset = s->offset, .fd = c->segments->fd, .mapping = m};
	int err = 0;

	if (!m || !m->read || core_image_is_special(m))
		return 0;
	if (!s->filled)
		return o ? core_image_add_from_file(c, o, s, m) : 0;
	/* The memory behind an object's data is a mapping of its own: maps_cut_data(). */
	for (; !err && m && run.start < end; m = maps_find(c->image->maps, run.start)) {
		run.mapping = m;
		run.end = m->end < end ? m->end : end;
		if (o && !s->write)
			err = s->exec ? 0 : core_image_add_read_only(c, o, &run);
		/* For shared memory the kernel writes zeros where there is none. */
		else
			err = c->sparse && !m->shared ? core_image_add_data(c, &run)
						      : core_image_add_written(c, &run);
		run.offset += run.end - run.start;
		run.start = run.end;
	}
	return err;
}

/* ---- the data ----------------------------------------------------------------------------- */

static void core_image_on_bus(int signal)
{
	static const char text[] =
		"memleakbpf: the core file cannot be read any more: it was cut meanwhile, or its "
		"disk fails\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)signal;
	(void)n;
	_exit(1);
}

static int core_image_check_size(const struct core_image *c, char reason[static REASON_MAX])
{
	uint64_t left = 0, needed = 0;
	char limit[96];

	/* Same order as core_image_copy(): pieces that are all zeros take nothing. */
	for (size_t i = 0; i < c->count; i++) {
		const struct core_run *r = &c->runs[i];

		for (uint64_t at = r->start, n; !r->mapped && at < r->end; at += n) {
			n = r->end - at < PIECE ? r->end - at : PIECE;
			needed += memory_image_untouched(c->image, at, at + n) < n ? n : 0;
		}
	}
	if (own_memory_left(&left) || needed <= left / 4 * 3)
		return 0;
	return refuse(reason, -ENOMEM,
		      "a copy of its %" PRIu64 " MiB does not fit into the %" PRIu64
		      " MiB that %s leaves%s",
		      needed >> 20, left >> 20,
		      own_memory_limit(limit, sizeof(limit)) ? limit : "this machine",
		      c->may_map ? ""
				 : "; make the file yours, and writable for nobody else, and it "
				   "will not be copied");
}

static int core_image_reserve(struct core_image *c, uint64_t map_size,
			      char reason[static REASON_MAX])
{
	const uint64_t page = page_size();
	struct sigaction action = {.sa_handler = core_image_on_bus};
	uint64_t size = page_up(map_size, page) + page_up(c->copied + 1, page);
	char *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (data == MAP_FAILED)
		return refuse(reason, -ENOMEM, "no memory for it");
	c->image->data = data;
	c->image->data_size = size;
	if (!map_size)
		return 0;
	if (mmap(data, map_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, c->segments->fd, 0) ==
	    MAP_FAILED)
		return refuse(reason, -errno, "it cannot be mapped: %s", strerror(errno));
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, &action, NULL))
		return refuse(reason, -errno, "no handler for SIGBUS: %s", strerror(errno));
	return 0;
}

/*
 * Returns how many bytes could be read, in whole words. Leaves zeros as they are, without memory.
 */
static uint64_t core_image_copy(const struct memory_image *image, const struct core_run *run,
				char *to)
{
	uint64_t size = run->end - run->start, done = 0;

	while (done < size) {
		size_t wanted = size - done < PIECE ? (size_t)(size - done) : PIECE;
		uint64_t at = run->start + done;
		ssize_t n = (ssize_t)wanted;

		if (memory_image_untouched(image, at, at + wanted) < wanted)
			n = pread(run->fd, to + done, wanted, (off_t)(run->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	return done & ~7ull;
}

static int core_image_take_runs(struct core_image *c, uint64_t map_size, struct core_facts *facts)
{
	char *data = c->image->data, *to = data + page_up(map_size, page_size());

	c->image->regions = calloc(c->count + 1, sizeof(*c->image->regions));
	if (!c->image->regions)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		const struct core_run *run = &c->runs[i];
		uint64_t size = run->end - run->start;
		const char *from = run->mapped ? data + run->offset : to;

		if (!run->mapped)
			size = core_image_copy(c->image, run, to);
		*(run->mapped ? &facts->mapped_bytes : &facts->copied_bytes) += size;
		if (!run->mapped)
			to += size;
		if (size)
			c->image->regions[c->image->region_count++] = (struct memory_region){
				.start = run->start,
				.size = size,
				.words = (const uint64_t *)from,
				.mapping = run->mapping,
			};
	}
	memory_image_finish(c->image);
	return 0;
}

static int core_image_take_threads(struct memory_image *image, const struct core_notes *notes)
{
	image->threads = calloc(notes->thread_count + 1, sizeof(*image->threads));
	if (!image->threads)
		return -ENOMEM;
	for (size_t i = 0; i < notes->thread_count; i++) {
		const struct core_thread *from = &notes->threads[i];
		struct memory_thread *t = &image->threads[i];

		*t = (struct memory_thread){.tid = from->tid, .sp = from->sp, .tls = from->tls};
		t->words = calloc(from->word_count + 1, sizeof(*t->words));
		if (!t->words)
			return -ENOMEM;
		image->thread_count++;
		memcpy(t->words, from->words, from->word_count * sizeof(*t->words));
		t->word_count = from->word_count;
	}
	return 0;
}

/* ---- how much it is ----------------------------------------------------------------------- */

/* Counts the bytes of the region's pages that differ from the file. */
static uint64_t core_image_count_own(struct core_image *c, const struct memory_region *r,
				     const struct object *object)
{
	const uint64_t page = page_size();
	uint64_t own = 0;

	for (uint64_t at = 0; at < r->size; at += page) {
		size_t size = r->size - at < page ? (size_t)(r->size - at) : (size_t)page;
		off_t offset = (off_t)(r->mapping->offset + (r->start - r->mapping->start) + at);

		/* Behind the file's end the page was zeros. */
		memset(c->piece, 0, size);
		if (!object || pread(object_fd(object), c->piece, size, offset) < 0 ||
		    memcmp(c->piece, (const char *)r->words + at, size) != 0)
			own += size;
	}
	return own;
}

static void core_image_count(struct core_image *c, struct core_facts *facts)
{
	for (size_t i = 0; i < c->image->region_count; i++) {
		const struct memory_region *r = &c->image->regions[i];
		const struct core_mapped_file *f = core_notes_file(c->notes, r->mapping->start);
		uint64_t own =
			r->size - memory_image_untouched(c->image, r->start, r->start + r->size);

		if (r->mapping->shared) {
			facts->shared_bytes += own;
			continue;
		}
		if (f) {
			own = core_image_count_own(c, r, c->notes->objects[f->object].object);
			facts->file_private_bytes += own;
		}
		facts->private_bytes += own;
	}
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* The file's owner may change it, unless that is us; root may anyhow. */
static bool core_image_may_map(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool core_image_has_holes(const struct core_segments *segments)
{
	off_t hole = lseek(segments->fd, 0, SEEK_HOLE);

	return hole >= 0 && (uint64_t)hole < segments->file_size;
}

static int core_image_make(struct core_image *c, struct core_facts *facts,
			   char reason[static REASON_MAX])
{
	uint64_t map_size = c->may_map ? c->segments->file_size : 0;
	int err = 0;

	for (size_t i = 0; !err && i < c->segments->count; i++)
		err = core_image_add_segment(c, &c->segments->items[i]);
	if (err)
		return refuse(reason, err, "no memory");
	err = core_image_check_size(c, reason);
	err = err ?: core_image_reserve(c, map_size, reason);
	if (err)
		return err;
	if (core_image_take_runs(c, map_size, facts))
		return refuse(reason, -ENOMEM, "no memory");
	core_image_count(c, facts);
	facts->zero_bytes = c->zero;
	return 0;
}

int core_image_fill(struct memory_image *image, const struct core_notes *notes,
		    const struct core_segments *segments, struct core_facts *facts,
		    char reason[static REASON_MAX])
{
	struct core_image c = {
		.image = image,
		.notes = notes,
		.segments = segments,
		.may_map = core_image_may_map(segments->fd),
		.sparse = core_image_has_holes(segments),
		.piece = malloc(PIECE),
	};
	int err = c.piece ? core_image_take_threads(image, notes) : -ENOMEM;

	err = err ? refuse(reason, err, "no memory") : core_image_make(&c, facts, reason);
	free(c.piece);
	free(c.runs);
	return err;
}
