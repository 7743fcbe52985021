/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks of which no more is known than their size and how they begin: those that begin alike are a
 * group where they are many, and the others of their size are one. Internal to the files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_SIZES_H
#define MEMLEAKBPF_INSPECT_CLASS_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "user/inspect/class_groups.h"
#include "user/inspect/class_memory.h"

/* Beginnings that are told apart; the others count as the rest of their size. 8 MiB. */
#define CLASS_KINDS_MAX (1u << 18)

struct class_sizes;

/* NULL when out of memory. The memory outlives it. */
struct class_sizes *class_sizes_new(const struct class_memory *memory);
void class_sizes_free(struct class_sizes *sizes); /* NULL is fine */

/*
 * Counts a block, whose first `count` words are there: *kind, below CLASS_KINDS_MAX, is what class_sizes_group() is to be asked by
 * once all are counted. 0 or -ENOMEM.
 */
int class_sizes_count(struct class_sizes *sizes, uint64_t size, const uint64_t *words, size_t count,
		      uint32_t *kind);

/* 0 or -ENOMEM. */
int class_sizes_group(struct class_sizes *sizes, struct class_groups *groups, uint32_t kind,
		      uint32_t *group);

#endif
