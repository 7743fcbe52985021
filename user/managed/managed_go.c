// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/managed_go.h"

#include <errno.h>
#include <stdio.h>

#include "user/managed/go_heap.h"

static void say_changing(const struct go_heap *heap, struct managed_heap *out)
{
	if (heap->changing_spans && !*out->why)
		snprintf(out->why, sizeof(out->why),
			 "%llu of its %zu spans were being changed: what they have may be one "
			 "object off",
			 (unsigned long long)heap->changing_spans, heap->span_count);
}

static int read_all(struct go_heap *heap, struct inventory *inventory, struct managed_heap *out)
{
	int err = go_heap_sum(heap, out);

	if (err)
		return err;
	say_changing(heap, out);
	if (inventory)
		go_heap_count(heap, inventory);
	err = go_goroutines_read(heap, out);
	err = err ?: go_types_read(heap, out);
	return err ?: go_profile_read(heap, out);
}

int managed_go_read(const struct managed_memory *memory, struct inventory *inventory,
		    struct managed_heap *out)
{
	struct go_heap heap;
	int err = go_heap_find(memory, &heap, out->why);

	snprintf(out->runtime, sizeof(out->runtime), "Go");
	snprintf(out->version, sizeof(out->version), "%s", go_program_number(&heap.program));
	if (!err) {
		out->read = true;
		err = read_all(&heap, inventory, out);
	}
	go_heap_release(&heap);
	return err == -ENOTSUP ? 0 : err;
}
