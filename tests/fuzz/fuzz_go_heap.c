// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a Go process whose runtime's books lie. The first byte is the version. */
#include "tests/fuzz/fuzz_books.h"
#include "tests/unit/managed/fake_go.h"

static void check_heap(const struct managed_heap *heap)
{
	struct amount all = {0};

	if (!heap->read) {
		MUST(*heap->why && !heap->part_count && !heap->kind_count);
		return;
	}
	for (size_t i = 0; i < heap->kind_count; i++) {
		MUST(heap->kinds[i].name && heap->kinds[i].live.count);
		amount_add(&all, &heap->kinds[i].live);
	}
	MUST(all.count + managed_heap_part(heap, "unswept")->amount.count <=
	     managed_heap_part(heap, "objects")->amount.count);
	for (size_t i = 0; i < heap->thread_group_count; i++)
		MUST(heap->threads[i].state && heap->threads[i].count);
	for (size_t i = 0; i < heap->sample_count; i++)
		MUST(heap->samples[i].frame_count &&
		     heap->samples[i].live.count <= heap->samples[i].alloc.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory inventory = {0};
	uint64_t resident = 0, counted = 0;
	struct managed_heap *heaps;
	struct fake_go go;
	size_t count;

	if (!size)
		return 0;
	fake_go_new(&go, 19 + data[0] % 9);
	for (data++, size--; size >= FUZZ_RECORD; size -= FUZZ_RECORD, data += FUZZ_RECORD)
		fuzz_change(go.image, data);
	heaps = fake_go_look(&go, &inventory, &count);
	MUST(count == 1);
	check_heap(&heaps[0]);
	for (size_t i = 0; i < go.image->memory->region_count; i++)
		resident += go.image->memory->regions[i].size;
	for (int part = 0; part < INVENTORY_PARTS; part++)
		counted += inventory.allocators[0].resident[part];
	MUST(counted <= resident);
	managed_heap_release(&heaps[0]);
	free(heaps);
	fake_go_free(&go);
	written_count = 0;
	return 0;
}
