/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that exists and holds nothing any more: stacks below their stack pointer, stacks of
 * threads that have ended, free chunks of the heap. What stale pointers there point to is not held
 * by them. Where it is not certain, memory is not dead.
 */
#ifndef MEMLEAKBPF_HEAP_DEAD_MEMORY_H
#define MEMLEAKBPF_HEAP_DEAD_MEMORY_H

#include "user/heap/heap_image.h"

/*
 * Bytes below the stack pointer that a function may use (x86-64 psABI 3.2.2); other ABIs have fewer
 * or none.
 */
#define STACK_RED_ZONE 128

/*
 * Adds the dead ranges to a finished image, and finishes it again; where a block is alone in what
 * the allocator gave for it, its room_end is set. 0 or -errno (-ENOMEM), not logged.
 */
int dead_memory_find(struct heap_image *image);

#endif
