/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Heaps that nobody here reads, told by the shape of their mappings. Internal to user/heap. */
#ifndef MEMLEAKBPF_HEAP_UNKNOWN_SHAPES_H
#define MEMLEAKBPF_HEAP_UNKNOWN_SHAPES_H

#include "user/heap/heap_image.h"

/*
 * Finds the heaps of Go, of V8 and of PartitionAlloc, names them in the image's inventory, and reports
 * their memory as what is not believed. The image is finished, but for the dead ranges; its inventory is
 * wanted. 0 or -ENOMEM.
 */
int unknown_shapes_mark(struct heap_image *image);

#endif
