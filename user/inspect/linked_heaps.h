/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocators that are linked to the program itself, so that no library's name tells them. */
#ifndef MEMLEAKBPF_INSPECT_LINKED_HEAPS_H
#define MEMLEAKBPF_INSPECT_LINKED_HEAPS_H

#include "user/heap/heap_image.h"
#include "user/inspect/inspect_source.h"

/*
 * Says those that nobody here reads, or whose heap was not found, by the symbols of the program's file. What a stripped
 * program has is not known. After dead_memory_find(), of an image with an inventory.
 */
void linked_heaps_find(const struct inspect_source *source, struct heap_image *image);

#endif
