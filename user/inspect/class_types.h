/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks of C, and of C++ classes without virtual functions, by what points to them: from the types of
 * variables, which debug information has, on to those of the pointers in the blocks. Internal to the files of
 * classes.h; docs/inspect.md has the rules.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_TYPES_H
#define MEMLEAKBPF_INSPECT_CLASS_TYPES_H

#include "user/base/packed.h"
#include "user/heap/heap_image.h"
#include "user/inspect/class_groups.h"
#include "user/inspect/class_memory.h"

struct class_types;

/*
 * Types of all blocks but those that have one of `known` (by block, the group's number; CLASS_UNKNOWN: none), which outlives it,
 * as do the image and the groups; those that are a class's objects lead to others. NULL when out of memory.
 */
struct class_types *class_types_new(const struct heap_image *image, struct class_groups *groups,
				    const struct packed *known);

/*
 * Takes the types of an object of that path, whose variables lie at their addresses and `bias`. 0 or
 * -ENOMEM. The path outlives it.
 */
int class_types_take(struct class_types *types, const struct type_table *from, uint64_t bias,
		     const char *path);

/* How many variables have been taken. Beyond a limit there are no more. */
size_t class_types_root_count(const struct class_types *types);

/* Takes `count` variables once more, from the first-th on, `moved` from where they are. 0 or -ENOMEM. */
int class_types_repeat(struct class_types *types, size_t first, size_t count, uint64_t moved);

/*
 * Follows the pointers, once all objects are taken. Takes 8 bytes a block meanwhile and 4 from then on,
 * and none where no variable has a type, and no class of an object one by its name. 0 or -ENOMEM.
 */
int class_types_run(struct class_types *types);

/* Were there any to be followed? */
bool class_types_found(const struct class_types *types);

/*
 * All of this (class_asking.c), with the types of all objects of the process. *out is NULL where none are known, or there is no
 * memory for them, which is no error: all else can be said without.
 */
void class_types_find(const struct heap_image *image, struct class_memory *memory,
		      struct class_groups *groups, const struct packed *known,
		      struct class_types **out);
void class_types_free(struct class_types *types); /* NULL is fine */

/* The block's group; CLASS_NO_GROUP: its type is not certain. 0 or -ENOMEM. */
int class_types_group(struct class_types *types, size_t block, uint32_t *group);

#endif
