// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/managed_heaps.h"

#include <errno.h>
#include <stdlib.h>

#include "user/managed/managed_go.h"

/* -ENOENT: the process has no such runtime. */
static int (*const readers[])(const struct managed_memory *memory, struct inventory *inventory,
			      struct managed_heap *out) = {
	managed_go_read,
};

int managed_heaps_read(const struct managed_memory *memory, struct inventory *inventory,
		       struct managed_heap **out, size_t *count)
{
	size_t most = sizeof(readers) / sizeof(readers[0]);
	struct managed_heap *heaps = calloc(most, sizeof(*heaps));

	*out = NULL;
	*count = 0;
	if (!heaps)
		return -ENOMEM;
	for (size_t i = 0; i < most; i++) {
		int err = readers[i](memory, inventory, &heaps[*count]);

		if (!err) {
			(*count)++;
			continue;
		}
		managed_heap_release(&heaps[*count]);
		if (err == -ENOENT)
			continue;
		for (size_t n = 0; n < *count; n++)
			managed_heap_release(&heaps[n]);
		free(heaps);
		*count = 0;
		return err;
	}
	*out = heaps;
	return 0;
}
