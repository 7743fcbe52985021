/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The heaps that languages' runtimes keep, read from a copy of a process: no agent, no flag, no symbol and no
 * safepoint. Each runtime has a reader of its own, and all give the same (model/managed_heap.h).
 *
 * A target can put anything into its memory. A reader believes its runtime's books only as far as they agree
 * with each other. What is in the copy bounds all that it does.
 */
#ifndef MEMLEAKBPF_MANAGED_HEAPS_H
#define MEMLEAKBPF_MANAGED_HEAPS_H

#include "user/heap/inventory.h"
#include "user/managed/managed_memory.h"
#include "user/model/managed_heap.h"

/*
 * The heaps of the process: 0, *out and *count, each to be released with managed_heap_release() and the array
 * with free(); -ENOMEM, not logged. The memory of a heap that was read is counted in the inventory (NULL: not
 * wanted), as that of an allocator of the runtime's name.
 */
int managed_heaps_read(const struct managed_memory *memory, struct inventory *inventory,
		       struct managed_heap **out, size_t *count);

#endif
