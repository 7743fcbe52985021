// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/maps.h"
#include "user/process/object_open.h"

struct range {
	struct image_range shown; /* the object is borrowed from image.seen */
	/* as maps shows them: tells whether a later reading means the same mapping */
	uint64_t dev, ino;
};

struct ranges {
	struct range *items; /* in address order, without overlaps */
	size_t count, capacity;
};

struct image {
	pid_t pid;
	int root_fd; /* O_PATH, -1: unknown; outlives the process */
	struct object_cache *cache;
	struct ranges ranges;
	/* one reference each, never dropped: locations handed out point to them */
	struct object **seen;
	size_t seen_count, seen_capacity;
	uint64_t generation;
};

struct image *image_new_empty(pid_t pid, struct object_cache *cache)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->pid = pid;
	image->cache = cache;
	image->root_fd = object_open_root(pid);
	image->generation = 1;
	return image;
}

int image_new(pid_t pid, struct object_cache *cache, struct image **out)
{
	struct image *image = image_new_empty(pid, cache);
	int err;

	if (!image)
		return log_errno(ENOMEM, "mappings of process %d", (int)pid);
	err = image_refresh(image);
	if (err) {
		if (err != -ESRCH)
			log_errno(err, "cannot read /proc/%d/maps", (int)pid);
		image_free(image);
		return err;
	}
	*out = image;
	return 0;
}

void image_free(struct image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->seen_count; i++) {
		object_unmap(image->seen[i]);
		object_unref(image->seen[i]);
	}
	free(image->seen);
	free(image->ranges.items);
	if (image->root_fd >= 0)
		close(image->root_fd);
	free(image);
}

void image_forget_root(struct image *image)
{
	cleanup_close(&image->root_fd);
	image->root_fd = -1;
}

/* Keeps the object (whose reference is taken over) for the image's lifetime. */
static int image_keep(struct image *image, struct object *object)
{
	for (size_t i = 0; i < image->seen_count; i++) {
		if (image->seen[i] == object) {
			object_unref(object);
			return 0;
		}
	}
	if (!RESERVE_ITEM(image->seen, image->seen_count, image->seen_capacity, 16)) {
		object_unref(object);
		return -ENOMEM;
	}
	object_map(object);
	image->seen[image->seen_count++] = object;
	return 0;
}

struct image *image_clone(const struct image *parent, pid_t child)
{
	struct image *image = image_new_empty(child, parent->cache);
	size_t count = parent->ranges.count;

	if (!image)
		return NULL;
	if (image->root_fd < 0 && parent->root_fd >= 0)
		image->root_fd = fcntl(parent->root_fd, F_DUPFD_CLOEXEC, 0);
	for (size_t i = 0; i < parent->seen_count; i++) {
		if (image_keep(image, object_ref(parent->seen[i])))
			goto fail;
	}
	if (count) {
		image->ranges.items = calloc(count, sizeof(struct range));
		if (!image->ranges.items)
			goto fail;
		memcpy(image->ranges.items, parent->ranges.items, count * sizeof(struct range));
		image->ranges.count = image->ranges.capacity = count;
	}
	return image;

fail:
	image_free(image);
	return NULL;
}

/* Index of the first range that ends above the address. */
static size_t image_lower_bound(const struct ranges *ranges, uint64_t address)
{
	return BISECT(i, 0, ranges->count, ranges->items[i].shown.end <= address);
}

static int insert_at(struct ranges *ranges, size_t at, const struct range *r)
{
	if (!RESERVE_ITEM(ranges->items, ranges->count, ranges->capacity, 16))
		return -ENOMEM;
	memmove(&ranges->items[at + 1], &ranges->items[at], (ranges->count - at) * sizeof(*r));
	ranges->items[at] = *r;
	ranges->count++;
	return 0;
}

static void trim_front(struct range *r, uint64_t start)
{
	r->shown.offset += start - r->shown.start;
	r->shown.start = start;
}

/* Cuts [start, end) out of the ranges; one of them may become two. */
static int image_cut(struct ranges *ranges, uint64_t start, uint64_t end)
{
	size_t at = image_lower_bound(ranges, start);
	size_t gone = 0;
	struct range *r;

	if (at < ranges->count && ranges->items[at].shown.start < start) {
		if (ranges->items[at].shown.end > end) {
			struct range tail = ranges->items[at];
			int err;

			trim_front(&tail, end);
			err = insert_at(ranges, at + 1, &tail);
			if (err)
				return err;
			ranges->items[at].shown.end = start;
			return 0;
		}
		ranges->items[at++].shown.end = start;
	}
	while (at + gone < ranges->count && ranges->items[at + gone].shown.end <= end)
		gone++;
	if (gone) {
		memmove(&ranges->items[at], &ranges->items[at + gone],
			(ranges->count - at - gone) * sizeof(*r));
		ranges->count -= gone;
	}
	if (at == ranges->count)
		return 0;
	r = &ranges->items[at];
	if (r->shown.start < end)
		trim_front(r, end);
	return 0;
}

/* Adds the range; what it overlaps is cut away. */
static int lay_over(struct ranges *ranges, const struct range *r)
{
	int err = image_cut(ranges, r->shown.start, r->shown.end);

	return err ?: insert_at(ranges, image_lower_bound(ranges, r->shown.start), r);
}

/*
 * Fills r->shown.object. 0 with object NULL for memory that is no ELF file's: anonymous memory, and
 * the memfds that some JITs map twice. Otherwise the object's error, and object NULL.
 */
static int find_object(struct image *image, const struct mapping *m, struct range *r)
{
	struct object *object;
	int err = object_cache_get_at(image->cache, image->pid, image->root_fd, m, &object);

	if (!err) {
		r->shown.object = object;
		return image_keep(image, object);
	}
	r->shown.object = NULL;
	if (err == -ENOEXEC || (err == -ENOENT && m->path[0] != '/'))
		return 0;
	log_debug("process %d: cannot open %s: %s", (int)image->pid, m->path, strerror(-err));
	return err;
}

static struct range range_of(const struct mapping *m)
{
	return (struct range){
		.shown = {.start = m->start, .end = m->end, .offset = m->offset},
		.dev = m->dev,
		.ino = m->ino,
	};
}

int image_add(struct image *image, const struct mapping *m)
{
	struct range r = range_of(m);
	int err, object_err;

	if (m->start >= m->end)
		return 0;
	object_err = find_object(image, m, &r);
	if (object_err == -ENOMEM)
		return object_err;
	err = lay_over(&image->ranges, &r);
	image->generation++;
	return err ? err : object_err;
}

/*
 * The object of the same mapping as it was known before: spares the system calls that find it
 * again.
 */
static bool reuse_object(const struct image *image, struct range *r)
{
	size_t at = image_lower_bound(&image->ranges, r->shown.start);
	const struct range *old;

	if (at >= image->ranges.count)
		return false;
	old = &image->ranges.items[at];
	if (!old->shown.object || object_is_vdso(old->shown.object) ||
	    old->shown.start != r->shown.start || old->shown.end != r->shown.end ||
	    old->shown.offset != r->shown.offset || old->dev != r->dev || old->ino != r->ino)
		return false;
	r->shown.object = old->shown.object;
	return true;
}

static bool same_ranges(const struct ranges *a, const struct ranges *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct image_range *x = &a->items[i].shown, *y = &b->items[i].shown;

		if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
		    x->object != y->object)
			return false;
	}
	return true;
}

/* What the process has mapped now. */
static int read_ranges(struct image *image, struct ranges *out)
{
	struct ranges fresh = {0};
	struct maps *maps;
	int err = maps_read(image->pid, &maps);

	if (err)
		return err;
	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		struct range r = range_of(m);

		if (!m->exec || !strcmp(m->path, "[vsyscall]"))
			continue;
		if (!reuse_object(image, &r) && find_object(image, m, &r) == -ENOMEM)
			err = -ENOMEM;
		/* What the kernel repeated while the process was mapping is cut away. */
		err = err ?: lay_over(&fresh, &r);
	}
	maps_free(maps);
	if (err)
		free(fresh.items);
	else
		*out = fresh;
	return err;
}

/* Takes the ranges over. */
static void replace_ranges(struct image *image, struct ranges *fresh)
{
	if (same_ranges(&image->ranges, fresh)) {
		free(fresh->items);
		return;
	}
	free(image->ranges.items);
	image->ranges = *fresh;
	image->generation++;
}

int image_refresh(struct image *image)
{
	struct ranges fresh;
	int err = read_ranges(image, &fresh);

	if (!err)
		replace_ranges(image, &fresh);
	return err;
}

int image_fill(struct image *image)
{
	struct ranges fresh;
	int err = read_ranges(image, &fresh);

	if (err)
		return err;
	for (size_t i = 0; !err && i < image->ranges.count; i++)
		err = lay_over(&fresh, &image->ranges.items[i]);
	if (err)
		free(fresh.items);
	else
		replace_ranges(image, &fresh);
	return err;
}

bool image_locate(const struct image *image, uint64_t address, struct location *out)
{
	size_t at = image_lower_bound(&image->ranges, address);
	const struct image_range *r;

	if (at >= image->ranges.count)
		return false;
	r = &image->ranges.items[at].shown;
	if (address < r->start)
		return false;
	out->object = r->object;
	out->offset = r->object ? r->offset + (address - r->start) : address;
	return true;
}

size_t image_range_count(const struct image *image)
{
	return image->ranges.count;
}

const struct image_range *image_range_at(const struct image *image, size_t index)
{
	return index < image->ranges.count ? &image->ranges.items[index].shown : NULL;
}

uint64_t image_generation(const struct image *image)
{
	return image->generation;
}

pid_t image_pid(const struct image *image)
{
	return image->pid;
}
