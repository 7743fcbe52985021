/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What languages' runtimes keep in the process. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_MANAGED_BOOKS_H
#define MEMLEAKBPF_INSPECT_MANAGED_BOOKS_H

#include "user/heap/heap_image.h"
#include "user/inspect/class_memory.h"
#include "user/model/inspection.h"

/*
 * Fills in the heaps of runtimes, and counts what they have in the image's inventory. Before dead_memory_find(), which says
 * those that are left as not known. 0 or -ENOMEM.
 */
int managed_books_read(const struct heap_image *image, const struct class_files *files,
		       struct inspection *out);

#endif
