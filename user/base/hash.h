/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uthash ends the program when memory runs out, unless it is told not to. Told so, it sets hh.tbl
 * of an element that it could not add to NULL.
 */
#ifndef MEMLEAKBPF_BASE_HASH_H
#define MEMLEAKBPF_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
