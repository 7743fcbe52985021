// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/managed_books.h"

#include <errno.h>

#include "user/managed/managed_heaps.h"

static bool books_read(void *ctx, uint64_t address, void *to, size_t size)
{
	return class_memory_read(ctx, address, to, size);
}

static struct object *books_object(void *ctx, const struct mapping *m)
{
	return class_memory_object(ctx, m);
}

int managed_books_read(const struct heap_image *image, const struct class_files *files,
		       struct inspection *out)
{
	struct class_memory *memory = class_memory_new(image->memory, files);
	struct managed_memory seen = {
		.image = image->memory,
		.ctx = memory,
		.read = books_read,
		.object = books_object,
	};
	int err = -ENOMEM;

	if (memory)
		err = managed_heaps_read(&seen, image->inventory, &out->managed,
					 &out->managed_count);
	class_memory_free(memory);
	return err;
}
