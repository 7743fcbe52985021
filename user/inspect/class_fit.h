/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can have been asked for where an allocator's books have only what it gave: it rounds up, by its
 * classes of sizes. Internal to the files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_FIT_H
#define MEMLEAKBPF_INSPECT_CLASS_FIT_H

#include <stdint.h>

#include "user/heap/heap_image.h"

/*
 * The least size in bytes for which the block's allocator gives what the block has. Of an allocator that is
 * not known, of one that keeps what was asked for, and of a block that was seen being allocated, that is the
 * block's own.
 */
uint64_t class_fit_least(const struct heap_image *image, size_t block);

#endif
