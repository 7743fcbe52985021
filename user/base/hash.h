/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uthash, which ends the program where memory runs out unless it is told not to. Instead an element
 * that could not be added says so: its hh.tbl is NULL.
 */
#ifndef MEMLEAKBPF_BASE_HASH_H
#define MEMLEAKBPF_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
