/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where HotSpot, the Java virtual machine, says in which memory its heap is. */
#ifndef MEMLEAKBPF_RUNTIME_HOTSPOT_H
#define MEMLEAKBPF_RUNTIME_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>

#include "user/process/object.h"

/* Variables of libjvm.so, at their link-time addresses; each is 8 bytes. */
struct hotspot_symbols {
	uint64_t table; /* the address of the first entry */
	/* between two of them, and of an entry's members: */
	uint64_t stride, type_name, field_name, offset, address;
	/* the same of the table of types */
	uint64_t types, types_stride, types_name, types_size;
};

/* 0, -ENOENT: it is not HotSpot, or -EBADMSG. Not logged. */
int hotspot_find(struct object *object, struct hotspot_symbols *out);

/* What the variables hold. False: not all of them can be read. */
bool hotspot_symbols_read(const struct hotspot_symbols *symbols, uint64_t bias,
			  size_t (*read)(void *ctx, uint64_t address, void *to, size_t size),
			  void *ctx, struct hotspot_symbols *out);

/*
 * The memory that is reserved for the heap, [*start, *end). `bias`: how far above its link-time addresses the object is.
 * `read` returns how many bytes it could read. Nothing that it reads is believed. 0, or -ENOENT: the
 * table does not say, or there is no heap yet.
 */
int hotspot_heap(const struct hotspot_symbols *symbols, uint64_t bias,
		 size_t (*read)(void *ctx, uint64_t address, void *to, size_t size), void *ctx,
		 uint64_t *start, uint64_t *end);

#endif
