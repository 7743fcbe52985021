// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/managed_heap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

static const struct {
	const char *name, *text;
} managed_parts[] = {
	{"objects", "objects on the heap"},
	{"unswept", "of these garbage that is not swept yet"},
	{"spans", "spans of these objects, with the room between them"},
	{"stacks", "stacks of goroutines"},
	{"work", "what the collector works with"},
};

const char *managed_part_text(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(managed_parts); i++) {
		if (!strcmp(managed_parts[i].name, name))
			return managed_parts[i].text;
	}
	return name;
}

const struct managed_part *managed_heap_part(const struct managed_heap *heap, const char *name)
{
	for (size_t i = 0; i < heap->part_count; i++) {
		if (!strcmp(heap->parts[i].name, name))
			return &heap->parts[i];
	}
	return NULL;
}

int managed_heap_add_part(struct managed_heap *heap, const char *name, const struct amount *amount)
{
	struct managed_part *part;

	heap->parts = heap->parts ?: calloc(MANAGED_PARTS, sizeof(*heap->parts));
	if (!heap->parts)
		return -ENOMEM;
	if (heap->part_count == MANAGED_PARTS)
		return 0;
	part = &heap->parts[heap->part_count++];
	snprintf(part->name, sizeof(part->name), "%s", name);
	part->amount = *amount;
	return 0;
}

/* runtime/pprof's scaleHeapSample(). */
struct amount managed_sample_scaled(const struct managed_heap *heap, const struct amount *sampled)
{
	double size, scale;

	if (heap->sample_bytes <= 1 || !sampled->count || !sampled->bytes)
		return *sampled;
	size = (double)sampled->bytes / (double)sampled->count;
	scale = 1 / (1 - exp(-size / (double)heap->sample_bytes));
	return (struct amount){
		.bytes = saturate_u64((double)sampled->bytes * scale),
		.count = saturate_u64((double)sampled->count * scale),
	};
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "");
}

int managed_kind_compare(const struct managed_kind *a, const struct managed_kind *b)
{
	return compare_text(a->name, b->name);
}

int managed_threads_compare(const struct managed_threads *a, const struct managed_threads *b)
{
	return compare_text(a->at, b->at)		 ?
				 : compare_text(a->created, b->created) ?
					       : compare_text(a->state, b->state) ?: a->own - b->own;
}

bool managed_heap_is_whole(const struct managed_heap *heap)
{
	for (size_t i = 0; i < heap->kind_count; i++) {
		if (!heap->kinds[i].name)
			return false;
	}
	for (size_t i = 0; i < heap->thread_group_count; i++) {
		if (!heap->threads[i].state)
			return false;
	}
	return true;
}

void managed_heap_release(struct managed_heap *heap)
{
	for (size_t i = 0; i < heap->kind_count; i++)
		free(heap->kinds[i].name);
	for (size_t i = 0; i < heap->thread_group_count; i++) {
		free(heap->threads[i].state);
		free(heap->threads[i].at);
		free(heap->threads[i].created);
	}
	for (size_t i = 0; i < heap->sample_count; i++) {
		struct managed_sample *sample = &heap->samples[i];

		for (size_t n = 0; n < sample->frame_count; n++) {
			free(sample->frames[n].function);
			free(sample->frames[n].file);
		}
		free(sample->frames);
	}
	free(heap->parts);
	free(heap->kinds);
	free(heap->threads);
	free(heap->samples);
	*heap = (struct managed_heap){.read = false};
}
