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

/* Adds the dead ranges to the image, which is finished again. 0 or -ENOMEM, not logged. */
int dead_memory_find(struct heap_image *image);

/*
 * The part of it that knows glibc's heap: free chunks and what surrounds blocks in them. Needs
 * dead_memory_find()'s finish. 0 or -ENOMEM.
 */
int dead_memory_glibc(struct heap_image *image);

/* The same of others. */
int dead_memory_jemalloc(struct heap_image *image);
int dead_memory_musl(struct heap_image *image);
int dead_memory_mimalloc(struct heap_image *image);
int dead_memory_tcmalloc(struct heap_image *image);

/*
 * Of a slot that an allocator has: 0 when no known block begins in it, 1 when one does, -ENOMEM. If
 * that is alone and begins where the slot does (`inner`: or behind), the rest of the slot is no
 * root any more and belongs to the block. *block is the first that does not begin before the slot,
 * for the next call.
 */
int dead_memory_slot(struct heap_image *image, size_t *block, uint64_t start, uint64_t end,
		     bool inner);

/*
 * Is the region an object's writable data, or what follows it (.bss)? For those that look for an
 * allocator's variables.
 */
bool dead_memory_is_data(const struct heap_image *image, const struct memory_region *region);

/*
 * Where a thread's static TLS may be: below the thread pointer (x86_64) or above it (aarch64). Not
 * all of it need be there.
 */
struct heap_range dead_memory_tls(const struct memory_thread *thread);

#endif
