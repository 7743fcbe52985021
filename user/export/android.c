// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f android: the heap dump of Android's malloc debug, version 1.2 with the lines of
 * backtrace_full, which AOSP's native_heapdump_viewer.py reads. Format: AOSP,
 * bionic/libc/malloc_debug/README.md, "Format of the heap dump"; field widths as bionic prints
 * them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/collect.h"

/* One line: blocks of one size from one stack. */
struct record {
	uint64_t size, count;
	const struct collected_stack *stack;
};

/*
 * Sizes are not counted one by one, only their sum: blocks get the average, and as many as it takes
 * one byte more, so that the sum is exact. At most two records per stack.
 */
static size_t make_records(const struct collected_target *t, struct record *records)
{
	size_t n = 0;

	for (size_t i = 0; i < t->stack_count; i++) {
		const struct collected_stack *stack = &t->stacks[i];
		uint64_t size, larger;

		if (!stack->live.count)
			continue;
		size = stack->live.bytes / stack->live.count;
		larger = stack->live.bytes % stack->live.count;
		if (larger)
			records[n++] = (struct record){size + 1, larger, stack};
		if (stack->live.count > larger)
			records[n++] = (struct record){size, stack->live.count - larger, stack};
	}
	return n;
}

/* Largest first, as bionic has them. */
static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* One address per real call: inlined ones have none of their own, nor have an interpreter's. */
static bool has_address(const struct frame *frame)
{
	return !frame->inlined && frame_is_code(frame);
}

static const struct module_map *map_of(const struct collected_target *t, const struct frame *frame)
{
	if (!frame_in_object(frame))
		return NULL;
	return module_maps_find(t->maps, frame->module_path, frame->build_id, frame->build_id_len,
				frame->module_offset);
}

/*
 * The address of the call, as bionic has it: the return address less one, which is inside the
 * calling instruction.
 */
static uint64_t address_of(const struct collected_target *t, const struct frame *frame,
			   size_t depth)
{
	const struct module_map *map = map_of(t, frame);
	uint64_t address = frame->module_offset;

	if (map)
		address = map->start + (frame->module_offset - map->vaddr);
	return depth ? address - 1 : address;
}

static void put_quoted(FILE *out, const char *text)
{
	static const char *const instead[] = {"?"};
	static const struct text_rules rules = {
		.special = "\"", .instead = instead, .harmful = "?", .invalid = "?"};

	fputc('"', out);
	text_put(out, text ? text : "", &rules);
	fputc('"', out);
}

static void put_info(FILE *out, const struct frame *frame, size_t depth)
{
	const char *module = frame->module_path ? frame->module_path : frame->module;
	uint64_t back = depth ? 1 : 0;

	fputs(" {", out);
	put_quoted(out, frame_in_object(frame) ? module : NULL);
	fprintf(out, " %" PRIx64 " ", frame->module_offset - back);
	put_quoted(out, frame->function);
	fprintf(out, " %" PRIx64 "}",
		frame->function ? frame->offset - (frame->offset ? back : 0) : 0);
}

static void put_record(const struct document *d, FILE *out, const struct collected_target *t,
		       const struct record *record)
{
	const struct frame *const *frames = NULL;
	size_t count = 0, depth = 0;

	if (record->stack->frames)
		frames = frame_table_stack_at(d->collection.frames, record->stack->frames, &count);
	fprintf(out, "z 0  sz %8" PRIu64 "  num %4" PRIu64 "  bt", record->size, record->count);
	for (size_t i = 0; i < count; i++) {
		if (has_address(frames[i]))
			fprintf(out, " %" PRIx64, address_of(t, frames[i], depth++));
	}
	/* A record without any address is none to its readers. */
	if (!depth)
		fputs(" 0", out);
	fputs(depth ? "\n  bt_info" : "\n  bt_info {\"\" 0 \"\" 0}", out);
	depth = 0;
	for (size_t i = 0; i < count; i++) {
		if (has_address(frames[i]))
			put_info(out, frames[i], depth++);
	}
	fputc('\n', out);
}

static void put_maps(FILE *out, const struct module_maps *maps)
{
	fputs("MAPS\n", out);
	for (size_t i = 0; maps && i < maps->count; i++) {
		const struct module_map *map = &maps->items[i];

		fprintf(out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %20s", map->start,
			map->end, map->offset, "");
		text_put_name(out, map->path);
		fputc('\n', out);
	}
	fputs("END\n", out);
}

static size_t deepest(const struct document *d, const struct collected_target *t)
{
	size_t most = 0, count;

	for (size_t i = 0; i < t->stack_count; i++) {
		if (!t->stacks[i].frames)
			continue;
		frame_table_stack_at(d->collection.frames, t->stacks[i].frames, &count);
		if (count > most)
			most = count;
	}
	return most;
}

static int android_put_target(const struct document *d, FILE *out, const struct collected_target *t)
{
	struct record *records = calloc(t->stack_count ? 2 * t->stack_count : 1, sizeof(*records));
	uint64_t total = 0;
	size_t n;

	if (!records)
		return -ENOMEM;
	n = make_records(t, records);
	qsort(records, n, sizeof(*records), compare_records);
	for (size_t i = 0; i < n; i++)
		total += records[i].size * records[i].count;
	fprintf(out,
		"Android Native Heap Dump v1.2\n\nBuild fingerprint: 'unknown'\n\n"
		"Total memory: %" PRIu64 "\nAllocation records: %zu\nBacktrace size: %zu\n\n",
		total, n, deepest(d, t));
	for (size_t i = 0; i < n; i++)
		put_record(d, out, t, &records[i]);
	put_maps(out, t->maps);
	free(records);
	return 0;
}

static int android_write(struct document *d)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = 0, closed;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; !err && i < d->collection.target_count; i++)
		err = android_put_target(d, out, &d->collection.targets[i]);
	closed = close_memstream(out);
	err = err ?: closed;
	err = err ?: exporter_write_document(&d->base, text, len);
	free(text);
	return err;
}

static struct exporter *android_open(FILE *out, const struct export_options *options)
{
	return document_new(out, options, android_write);
}

const struct exporter_format format_android = {
	.name = "android",
	.help = "heap dump of Android's malloc debug",
	.wants_all = true,
	.open = android_open,
	.snapshot = document_snapshot,
	.close = document_close,
};
