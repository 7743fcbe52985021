/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython's objects and their types, 3.8 to 3.13, without symbols. Internal to the files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_PYTHON_H
#define MEMLEAKBPF_INSPECT_CLASS_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#include "user/heap/heap_image.h"
#include "user/inspect/class_groups.h"
#include "user/inspect/class_memory.h"

struct class_python;

/*
 * Finds all types of a process: *out is NULL where it has no CPython. 0 or -ENOMEM. Memory and groups outlive
 * it.
 */
int class_python_find(const struct heap_image *image, struct class_memory *memory,
		      struct class_groups *groups, struct class_python **out);
void class_python_free(struct class_python *python); /* NULL is fine */

/* The group of a block that holds an object, by its first words; CLASS_NO_GROUP: it holds none. */
uint32_t class_python_group(const struct class_python *python, const uint64_t *words, size_t count);

#endif
