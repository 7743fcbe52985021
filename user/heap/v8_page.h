/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of V8's own heap, where its pointers are not compressed (node): each begins at a multiple of 256 KiB, and says what it is, in itself or
 * in a structure that it leads to.
 */
#ifndef MEMLEAKBPF_HEAP_V8_PAGE_H
#define MEMLEAKBPF_HEAP_V8_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_PAGE (256ull << 10)

/* Words of the memory that is looked at. False: not all of them are there. */
typedef bool v8_page_read_fn(void *ctx, uint64_t address, uint64_t *words, size_t count);

/* Bytes of the page that begins there, objects of their own size included, `room` at the most; 0: none does. */
uint64_t v8_page_size(v8_page_read_fn *read, void *ctx, uint64_t at, uint64_t room);

#endif
