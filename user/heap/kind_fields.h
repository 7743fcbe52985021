/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which words of a block are likely to be fields of its kind that point to blocks. What is a pointer in
 * few blocks of a kind is mostly left over from an earlier block, or a number: one such word into the midst of a
 * list would take the rest of it from its owner.
 */
#ifndef MEMLEAKBPF_HEAP_KIND_FIELDS_H
#define MEMLEAKBPF_HEAP_KIND_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/heap/heap_image.h"

struct fields;

/* By what blocks are told apart: numbers below `count`. */
struct fields_kinds {
	void *ctx;
	uint32_t (*kind)(void *ctx, uint32_t block);
	size_t count;
};

/* Looks at all blocks of a finished image, which outlives it, as the kinds do: 0 or -ENOMEM. */
int fields_new(const struct heap_image *image, const struct fields_kinds *kinds,
	       struct fields **out);
void fields_free(struct fields *fields); /* NULL is fine */

/* Is the word at the address, which lies in the block, none of its kind's fields? As reach_options.is_weak. */
bool fields_is_weak(void *fields, uint32_t block, uint64_t address);

#endif
