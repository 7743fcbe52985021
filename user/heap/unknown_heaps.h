/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocators whose books nobody here reads, and which no mapping or file's name tells. */
#ifndef MEMLEAKBPF_HEAP_UNKNOWN_HEAPS_H
#define MEMLEAKBPF_HEAP_UNKNOWN_HEAPS_H

#include "user/heap/heap_image.h"

/* The allocator that has a function of that name, mangled where it is one of C++; NULL: none that is known by one. */
const char *unknown_heap_of_symbol(const char *symbol);

/*
 * An allocator of unknown_heap_of_symbol() is a part of the program: it is said, unless its heap has been found.
 * After dead_memory_find(), of an image with an inventory.
 */
void unknown_heap_is_linked(struct heap_image *image, const char *name);

#endif
