/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a process at one moment, as plain data: its regions, and the registers of its
 * threads. It knows nothing of how it was copied (user/freeze/), nor of what lies in it
 * (user/heap/).
 */
#ifndef MEMLEAKBPF_PROCESS_MEMORY_IMAGE_H
#define MEMLEAKBPF_PROCESS_MEMORY_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/process/maps.h"

/* A run of pages. */
struct memory_region {
	uint64_t start, size;	       /* multiples of 8 */
	const uint64_t *words;	       /* size / 8 of them; belongs to the image */
	const struct mapping *mapping; /* what is mapped there; NULL: unknown */
};

/* Words in a row. They belong to the image. */
struct memory_run {
	uint64_t address; /* of the first */
	const uint64_t *words;
	size_t count;
	const struct memory_region *region; /* where they are */
};

struct memory_thread {
	pid_t tid;
	uint64_t sp, tls; /* stack pointer, thread pointer */
	uint64_t *words;  /* registers, the general ones first, as PTRACE_GETREGSET has them */
	size_t word_count;
};

struct memory_range {
	uint64_t start, end;
};

struct memory_image {
	struct memory_region *regions; /* by address, not overlapping; see memory_image_finish() */
	size_t region_count;
	struct memory_thread *threads;
	size_t thread_count;
	struct maps *maps; /* NULL: unknown */
	/*
	 * pages of zeros, by address, not overlapping: some core files do not say whether they were
	 * ever touched. They can be read, and count as not resident.
	 */
	struct memory_range *untouched;
	size_t untouched_count, untouched_room;
	/*
	 * touched bytes of the regions, and some more: bounds the work, so that no lie in the image
	 * keeps us busy
	 */
	uint64_t bytes;
	void *data; /* mapped memory that holds the regions' words */
	size_t data_size;
};

/* NULL when out of memory. */
struct memory_image *memory_image_new(void);
void memory_image_free(struct memory_image *image); /* NULL is fine */

/* Sorts the regions by address, and counts their bytes. Call it once all are entered. */
void memory_image_finish(struct memory_image *image);

/*
 * The region that holds the address, or the first one behind it; NULL: none. This and all that
 * follows needs a finished image.
 */
const struct memory_region *memory_image_region(const struct memory_image *image, uint64_t address);

/* How many bytes of [start, end) were perhaps never touched. */
uint64_t memory_image_untouched(const struct memory_image *image, uint64_t start, uint64_t end);

/* Reads the word at an address that is a multiple of 8. False when the image does not have it. */
bool memory_image_word(const struct memory_image *image, uint64_t address, uint64_t *word);

/* Finds `count` words in a row, which belong to the image. NULL when not all of them are there. */
const uint64_t *memory_image_words(const struct memory_image *image, uint64_t address,
				   size_t count);

/*
 * memory_image_word() for many words that lie together. *near keeps the last word's region; NULL:
 * none yet. The address is a multiple of 8.
 */
static inline bool memory_image_word_near(const struct memory_image *image,
					  const struct memory_region **near, uint64_t address,
					  uint64_t *word)
{
	const struct memory_region *r = *near;

	if (!r || address - r->start >= r->size) {
		r = memory_image_region(image, address);
		if (!r || address < r->start)
			return false;
		*near = r;
	}
	*word = r->words[(address - r->start) / 8];
	return true;
}

/* Is a thread's stack pointer in the mapping? */
bool memory_image_has_stack(const struct memory_image *image, const struct mapping *mapping);

/*
 * Finds the next words of [*start, end) that are there, up to the first that is not. *start, a
 * multiple of 8, moves behind them. A word that the end cuts is left out. False when there are no
 * more.
 */
bool memory_image_next_run(const struct memory_image *image, uint64_t *start, uint64_t end,
			   struct memory_run *run);

#endif
