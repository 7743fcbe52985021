/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process at one moment, as far as reachability needs it: its live blocks, the memory that
 * exists, the registers of its threads. Plain data, made by user/trace (or by a test) and read by
 * user/analysis.
 */
#ifndef MEMLEAKBPF_HEAP_HEAP_IMAGE_H
#define MEMLEAKBPF_HEAP_HEAP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/process/maps.h"

#define HEAP_NO_STACK UINT32_MAX

struct heap_block {
	uint64_t address, size; /* as asked for */
	uint64_t end;		/* of what is looked at as its memory: set by heap_image_finish() */
	/* of what the allocator gave for it, where that is known to be more; else the same */
	uint64_t room_end;
	uint32_t stack;	 /* index into the snapshot's stacks; HEAP_NO_STACK: it is none of them */
	uint32_t age_ms; /* saturated */
};

/* A run of pages. */
struct heap_region {
	uint64_t start, size;	       /* multiples of 8 */
	const uint64_t *words;	       /* size / 8 of them; belongs to the image */
	const struct mapping *mapping; /* what is mapped there; NULL: unknown */
};

struct heap_range {
	uint64_t start, end;
};

/* Words in a row. They belong to the image. */
struct heap_run {
	uint64_t address; /* of the first */
	const uint64_t *words;
	size_t count;
};

struct heap_thread {
	pid_t tid;
	uint64_t sp, tls;
	uint64_t *words; /* registers, the general ones first, as PTRACE_GETREGSET has them */
	size_t word_count;
};

struct heap_image {
	struct heap_block *blocks; /* by address; see heap_image_finish() */
	size_t block_count;
	struct heap_region *regions; /* by address, not overlapping */
	size_t region_count;
	/*
	 * by address, not overlapping: memory that holds nothing any more, whose words are no roots
	 */
	struct heap_range *dead;
	size_t dead_count, dead_room;
	struct heap_thread *threads;
	size_t thread_count;
	struct maps *maps; /* NULL: unknown */
	void *data;	   /* what the regions' words lie in, mapped memory */
	size_t data_size;
	uint64_t sample_bytes; /* as in struct snapshot */
	/*
	 * every block that was ever allocated is known: traced from the first instruction, with
	 * nothing left out
	 */
	bool all_known;
};

/* NULL when out of memory. */
struct heap_image *heap_image_new(void);
void heap_image_free(struct heap_image *image); /* NULL is fine */

/*
 * Sorts blocks, regions and dead ranges by address; ends blocks where the next one begins (blocks
 * of a pool lie inside one of malloc's; and a target can make its books lie), and drops those whose
 * range wraps around. To be called once all is entered.
 */
void heap_image_finish(struct heap_image *image);

/*
 * How many blocks of its size a recorded one stands for: 1 / (1 - exp(-size / sample_bytes)), as
 * bpf/sample.h has it; 1 without sampling.
 */
double heap_image_weight(uint64_t size, uint64_t sample_bytes);

/* Marks [start, end) as dead; sorted later, by heap_image_finish(). 0 or -ENOMEM. */
int heap_image_add_dead(struct heap_image *image, uint64_t start, uint64_t end);

/*
 * The region that holds the address, or the first one behind it; NULL: none. Of a finished image.
 */
const struct heap_region *heap_image_region(const struct heap_image *image, uint64_t address);

/*
 * The word at an address that is a multiple of 8. False when it is not there. Of a finished image.
 */
bool heap_image_word(const struct heap_image *image, uint64_t address, uint64_t *word);

/*
 * The same of `count` words in a row: NULL when not all of them are there. They belong to the
 * image.
 */
const uint64_t *heap_image_words(const struct heap_image *image, uint64_t address, size_t count);

/*
 * The next words of [*start, end) that are there, up to the first that is not; *start moves behind
 * them. *start is a multiple of 8; a word that the end cuts is left out. False when there are no
 * more. Of a finished image.
 */
bool heap_image_next_run(const struct heap_image *image, uint64_t *start, uint64_t end,
			 struct heap_run *run);

#endif
