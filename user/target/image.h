/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What executable code a process has mapped, kept up to date from outside: read once from
 * /proc/PID/maps, then amended by the kernel's MMAP2 records. Addresses are turned into (object,
 * file offset) the moment a stack arrives, so that names can still be found after dlclose, exec or
 * exit.
 */
#ifndef MEMLEAKBPF_TARGET_IMAGE_H
#define MEMLEAKBPF_TARGET_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/process/location.h"
#include "user/process/object.h"

struct image;

struct image_range {
	uint64_t start, end, offset;
	struct object *object; /* NULL for anonymous executable memory (JIT) */
};

/*
 * Reads the executable mappings of a live process. -ESRCH when it is gone; other failures are
 * logged.
 */
int image_new(pid_t pid, struct object_cache *cache, struct image **out);

/*
 * An image with nothing in it yet, for a process whose mappings will come as records (after exec).
 */
struct image *image_new_empty(pid_t pid, struct object_cache *cache);

/* A forked child starts with its parent's mappings. NULL when out of memory. */
struct image *image_clone(const struct image *parent, pid_t child);
void image_free(struct image *image);

/*
 * For a process that is gone: nothing more will be looked up below its root directory, which is
 * closed.
 */
void image_forget_root(struct image *image);

/*
 * Adds one executable mapping (from an MMAP2 record), and cuts away what it overlaps. If the
 * process is dead already, the object is looked up in the cache. After that it is looked up by path
 * under the root directory that the image has open. 0, -ENOMEM, or the object's error: then the
 * range is kept without an object.
 */
int image_add(struct image *image, const struct mapping *m);

/*
 * Reads /proc/PID/maps again and replaces the ranges; the objects seen before stay. -ESRCH when the
 * process is gone.
 */
int image_refresh(struct image *image);

/*
 * Reads /proc/PID/maps again and adds what is missing. Known ranges stay. Stacks that are still to
 * be looked up are older than what is read here, and another file may be in the place by now.
 * -ESRCH when the process is gone.
 */
int image_fill(struct image *image);

/* True and *out filled when the address lies in a known executable range. */
bool image_locate(const struct image *image, uint64_t address, struct location *out);

size_t image_range_count(const struct image *image);
/* In address order. */
const struct image_range *image_range_at(const struct image *image, size_t index);

/* A number that changes whenever ranges are added or removed. */
uint64_t image_generation(const struct image *image);
pid_t image_pid(const struct image *image);

#endif
