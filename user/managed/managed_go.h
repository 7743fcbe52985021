/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reader of Go's heap. Internal to user/managed. */
#ifndef MEMLEAKBPF_MANAGED_GO_H
#define MEMLEAKBPF_MANAGED_GO_H

#include "user/heap/inventory.h"
#include "user/managed/managed_memory.h"
#include "user/model/managed_heap.h"

/*
 * As managed_heaps_read(): 0, also where it says why the heap was not read; -ENOENT: there is no Go; -ENOMEM. *out is
 * empty before, and the caller's in any case.
 */
int managed_go_read(const struct managed_memory *memory, struct inventory *inventory,
		    struct managed_heap *out);

#endif
