// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What languages' runtimes keep, as JSON; the keys are a contract (docs/memleakbpf.1). */
#include "user/export/json_parts.h"

static void managed_json_put_kind(struct json *to, const struct managed_kind *kind)
{
	json_object(to, NULL);
	json_text(to, "name", kind->name);
	json_bool(to, "type_known", kind->type_known);
	json_put_amount(to, "live", &kind->live);
	if (kind->growth_known)
		json_put_rate(to, "growth_bytes_per_s", kind->growth_bytes_per_s);
	json_end(to);
}

static void managed_json_put_threads(struct json *to, const struct managed_threads *t)
{
	json_object(to, NULL);
	json_text(to, "state", t->state);
	json_text(to, "at", t->at);
	json_text(to, "created", t->created);
	json_bool(to, "own", t->own);
	json_number(to, "count", t->count);
	if (t->growth_known)
		json_put_rate(to, "growth_per_s", t->growth_per_s);
	json_end(to);
}

static void managed_json_put_sample(struct json *to, const struct managed_heap *heap,
				    const struct managed_sample *sample)
{
	const struct amount estimated = managed_sample_scaled(heap, &sample->live);

	json_object(to, NULL);
	json_put_amount(to, "live", &sample->live);
	json_put_amount(to, "live_estimated", &estimated);
	json_put_amount(to, "alloc", &sample->alloc);
	json_array(to, "frames");
	for (size_t i = 0; i < sample->frame_count; i++) {
		const struct managed_frame *frame = &sample->frames[i];

		json_object(to, NULL);
		json_text(to, "function", frame->function);
		json_text(to, "file", frame->file);
		if (frame->line)
			json_number(to, "line", frame->line);
		json_end(to);
	}
	json_end(to);
	json_end(to);
}

static void managed_json_put_profile(struct json *to, const struct managed_heap *heap, size_t top)
{
	json_object(to, "profile");
	json_number(to, "sample_bytes", heap->sample_bytes);
	json_bool(to, "sample_bytes_known", heap->sample_known);
	json_number(to, "stack_count", heap->sample_count);
	json_array(to, "stacks");
	for (size_t i = 0; i < heap->sample_count && i < top; i++)
		managed_json_put_sample(to, heap, &heap->samples[i]);
	json_end(to);
	json_end(to);
}

static void managed_json_put_heap(struct json *to, const struct managed_heap *heap, size_t top)
{
	json_object(to, NULL);
	json_text(to, "runtime", heap->runtime);
	json_text(to, "version", *heap->version ? heap->version : NULL);
	json_bool(to, "read", heap->read);
	json_text(to, "why", *heap->why ? heap->why : NULL);
	json_array(to, "parts");
	for (size_t i = 0; i < heap->part_count; i++) {
		json_object(to, NULL);
		json_text(to, "name", heap->parts[i].name);
		json_number(to, "bytes", heap->parts[i].amount.bytes);
		json_number(to, "count", heap->parts[i].amount.count);
		json_end(to);
	}
	json_end(to);
	json_number(to, "kind_count", heap->kind_count);
	json_array(to, "kinds");
	for (size_t i = 0; i < heap->kind_count && i < top; i++)
		managed_json_put_kind(to, &heap->kinds[i]);
	json_end(to);
	json_number(to, "thread_count", heap->thread_count);
	json_number(to, "thread_group_count", heap->thread_group_count);
	json_array(to, "threads");
	for (size_t i = 0; i < heap->thread_group_count && i < top; i++)
		managed_json_put_threads(to, &heap->threads[i]);
	json_end(to);
	if (heap->sample_bytes)
		managed_json_put_profile(to, heap, top);
	json_end(to);
}

void inspection_json_put_managed(struct json *to, const struct inspection *i, size_t top)
{
	if (!i->managed_count)
		return;
	json_array(to, "managed");
	for (size_t n = 0; n < i->managed_count; n++)
		managed_json_put_heap(to, &i->managed[n], top);
	json_end(to);
}
