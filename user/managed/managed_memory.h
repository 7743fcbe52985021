/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a reader of a runtime's heap sees of a process. It is a copy of its memory, and the files behind what the
 * copy does not have. Whoever calls a reader fills it in.
 */
#ifndef MEMLEAKBPF_MANAGED_MEMORY_H
#define MEMLEAKBPF_MANAGED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/process/memory_image.h"
#include "user/process/object.h"

struct managed_memory {
	const struct memory_image *image; /* finished, with its mappings */
	void *ctx;
	/* `size` bytes at an address, of the copy or of a mapped file. False: not all are there. */
	bool (*read)(void *ctx, uint64_t address, void *to, size_t size);
	/* The ELF file behind a mapping of the image, which stays the callee's; NULL: it has none. */
	struct object *(*object)(void *ctx, const struct mapping *m);
};

static inline bool managed_read(const struct managed_memory *memory, uint64_t address, void *to,
				size_t size)
{
	return address + size >= address && memory->read(memory->ctx, address, to, size);
}

static inline bool managed_read_word(const struct managed_memory *memory, uint64_t address,
				     uint64_t *word)
{
	return managed_read(memory, address, word, sizeof(*word));
}

#endif
