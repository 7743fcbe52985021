/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps one copy of each string, cleaned: names come from a target and end on a terminal and in
 * JSON.
 */
#ifndef MEMLEAKBPF_SYMBOL_INTERN_H
#define MEMLEAKBPF_SYMBOL_INTERN_H

#include <stddef.h>

struct intern_pool;

#define INTERN_MAX 4096 /* bytes kept of a string, its end mark included */

struct intern_pool *intern_pool_new(void);	 /* NULL when out of memory */
void intern_pool_free(struct intern_pool *pool); /* and all its strings; NULL is fine */

/*
 * Returns the pool's copy of the first `len` bytes of text (a NUL ends it earlier). Control
 * characters (C0, DEL, C1) and bytes that are not UTF-8 (RFC 3629) become '?'. A text longer than
 * INTERN_MAX - 1 bytes is cut at a character's start. NULL only when out of memory.
 */
const char *intern_bytes(struct intern_pool *pool, const char *text, size_t len);
const char *intern(struct intern_pool *pool, const char *text);

#endif
