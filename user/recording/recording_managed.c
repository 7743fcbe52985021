// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_managed.h"

#include <math.h>
#include <string.h>

#include "user/model/managed_heap.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_names.h"

/* More are left out; those come last that have least. */
#define KINDS_MAX   100000
#define THREADS_MAX 100000
#define SAMPLES_MAX 100000
#define FRAMES_MAX  1024

FIELD_OWN_FUNCTIONS(kind_growth);
FIELD_OWN_FUNCTIONS(threads_growth);

static const struct field part_fields[] = {
	FIELD_CHARS(1, struct managed_part, name),
	FIELD_NUMBER(2, struct managed_part, amount.bytes),
	FIELD_NUMBER(3, struct managed_part, amount.count),
	{0},
};

static const struct field kind_fields[] = {
	FIELD_TEXT(1, struct managed_kind, name),
	FIELD_SMALL_IF_ANY(2, struct managed_kind, type_known),
	FIELD_NUMBER(3, struct managed_kind, live.bytes),
	FIELD_NUMBER(4, struct managed_kind, live.count),
	FIELD_OWN(5, kind_growth), /* double; left out: not known */
	{0},
};

static const struct field threads_fields[] = {
	FIELD_TEXT(1, struct managed_threads, state),
	FIELD_TEXT(2, struct managed_threads, at),
	FIELD_TEXT(3, struct managed_threads, created),
	FIELD_SMALL_IF_ANY(4, struct managed_threads, own),
	FIELD_NUMBER(5, struct managed_threads, count),
	FIELD_OWN(6, threads_growth), /* double; left out: not known */
	{0},
};

static const struct field frame_fields[] = {
	FIELD_TEXT(1, struct managed_frame, function),
	FIELD_TEXT(2, struct managed_frame, file),
	FIELD_SMALL_IF_ANY(3, struct managed_frame, line),
	{0},
};

static const struct field sample_fields[] = {
	FIELD_PARTS(1, struct managed_sample, frames, frame_count, frame_fields, FRAMES_MAX, NULL),
	FIELD_IF_ANY(2, struct managed_sample, live.bytes),
	FIELD_IF_ANY(3, struct managed_sample, live.count),
	FIELD_NUMBER(4, struct managed_sample, alloc.bytes),
	FIELD_NUMBER(5, struct managed_sample, alloc.count),
	{0},
};

const struct field recording_managed_fields[] = {
	FIELD_CHARS(1, struct managed_heap, runtime),
	FIELD_CHARS(2, struct managed_heap, version),
	FIELD_CHARS(3, struct managed_heap, why),
	FIELD_SMALL_IF_ANY(4, struct managed_heap, read),
	FIELD_PARTS(5, struct managed_heap, parts, part_count, part_fields, MANAGED_PARTS, NULL),
	FIELD_PARTS(6, struct managed_heap, kinds, kind_count, kind_fields, KINDS_MAX, NULL),
	FIELD_IF_ANY(7, struct managed_heap, thread_count),
	FIELD_PARTS(8, struct managed_heap, threads, thread_group_count, threads_fields,
		    THREADS_MAX, NULL),
	FIELD_IF_ANY(9, struct managed_heap, sample_bytes),
	FIELD_SMALL_IF_ANY(10, struct managed_heap, sample_known),
	FIELD_PARTS(11, struct managed_heap, samples, sample_count, sample_fields, SAMPLES_MAX,
		    NULL),
	{0},
};

static int put_kind_growth(struct recording_out *out, unsigned number, const void *from)
{
	const struct managed_kind *kind = from;

	if (kind->growth_known)
		wire_double(&out->chunk.body, number, kind->growth_bytes_per_s);
	return 0;
}

static int put_threads_growth(struct recording_out *out, unsigned number, const void *from)
{
	const struct managed_threads *threads = from;

	if (threads->growth_known)
		wire_double(&out->chunk.body, number, threads->growth_per_s);
	return 0;
}

static int take_kind_growth(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct managed_kind *kind = to;

	(void)in;
	if (f->type != WIRE_FIXED64)
		return 0;
	memcpy(&kind->growth_bytes_per_s, &f->number, sizeof(f->number));
	kind->growth_known = isfinite(kind->growth_bytes_per_s);
	return 0;
}

static int take_threads_growth(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct managed_threads *threads = to;

	(void)in;
	if (f->type != WIRE_FIXED64)
		return 0;
	memcpy(&threads->growth_per_s, &f->number, sizeof(f->number));
	threads->growth_known = isfinite(threads->growth_per_s);
	return 0;
}
