/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython's objects and their types, 3.8 to 3.13, without symbols. Internal to the files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_PYTHON_H
#define MEMLEAKBPF_INSPECT_CLASS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/heap/heap_image.h"
#include "user/inspect/class_groups.h"
#include "user/inspect/class_memory.h"

struct class_python;
struct python_type;

/*
 * Finds all types of a process: *out is NULL where it has no CPython. 0 or -ENOMEM. Memory and groups outlive
 * it.
 */
int class_python_find(const struct heap_image *image, struct class_memory *memory,
		      struct class_groups *groups, struct class_python **out);
void class_python_free(struct class_python *python); /* NULL is fine */

/* An object in a block. */
struct class_python_object {
	const struct python_type *type;
	uint32_t group;
	uint32_t before; /* words in front of it: what points to it points behind them */
};

/* The object that a block holds, by the block's first words. False: it holds none. */
bool class_python_object(const struct class_python *python, const uint64_t *words, size_t count,
			 struct class_python_object *object);

/* Memory of an object that is a block of its own: the items of a list, say. */
struct class_python_part {
	uint64_t address; /* in the block */
	uint32_t into;	  /* so many bytes into the block, at most */
	uint32_t group;
};
#define PYTHON_PARTS 2

/*
 * Where such memory is, if the address is one in a block and that holds no object itself. 0 or -ENOMEM.
 */
int class_python_parts(struct class_python *python, const struct class_python_object *object,
		       const uint64_t *words, size_t count,
		       struct class_python_part parts[static PYTHON_PARTS], size_t *part_count);

#endif
