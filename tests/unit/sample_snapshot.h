/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Snapshots that the exporters' tests print, and how they compare the result with tests/golden. */
#ifndef MEMLEAKBPF_TESTS_SAMPLE_SNAPSHOT_H
#define MEMLEAKBPF_TESTS_SAMPLE_SNAPSHOT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/borrowed_report.h"
#include "user/export/export.h"
#include "user/recording/recording.h"

#define SAMPLE_STACKS 3

static const uint8_t sample_build_id[] = {0xde, 0xad, 0xbe, 0xef, 0x01};

static const struct frame sample_malloc = {
	.function = "malloc",
	.module = "libc.so.6",
	.module_path = "/usr/lib/x86_64-linux-gnu/libc.so.6",
	.file = "./malloc/./malloc/malloc.c",
	.line = 3287,
	.module_offset = 0x996a0,
	.build_id = sample_build_id,
	.build_id_len = sizeof(sample_build_id),
};
static const struct frame sample_inlined = {
	.function = "std::vector<Order, std::allocator<Order> >::push_back(Order const&)",
	.module = "shop",
	.module_path = "/srv/shop",
	.file = "/usr/include/c++/12/bits/stl_vector.h",
	.line = 1287,
	.inlined = true,
	.offset = 0x1c,
	.module_offset = 0x2345,
};
static const struct frame sample_caller = {
	.function = "Cart::add(Order const&)",
	.module = "shop",
	.module_path = "/srv/shop",
	.file = "src/../src/cart.cc",
	.line = 42,
	.offset = 0x1c,
	.module_offset = 0x2345,
};
static const struct frame sample_no_function = {
	.module = "libssl.so.3",
	.module_path = "/usr/lib/libssl.so.3",
	.offset = 0x3a210,
	.module_offset = 0x3a210,
};
static const struct frame sample_nowhere = {
	.offset = 0x7f0012345678,
	.module_offset = 0x7f0012345678,
};

static const struct frame *const sample_frames_a[] = {
	&sample_malloc,
	&sample_inlined,
	&sample_caller,
};
static const struct frame *const sample_frames_b[] = {
	&sample_malloc,
	&sample_no_function,
	&sample_nowhere,
};

static struct stack sample_stacks[SAMPLE_STACKS] = {
	{
		.id = 0x00000000deadbeef,
		.live = {1363148, 1024},
		.alloc = {2726296, 2048},
		.free = {1363148, 1024},
		.older = {1000000, 700},
		.oldest_ns = 19500000000ULL,
		.frames = sample_frames_a,
		.frame_count = 3,
	},
	{
		.id = 0xfedcba9876543210,
		.live = {4096, 1},
		.alloc = {4096, 1},
		.older = {4096, 1},
		.oldest_ns = 20000000000ULL,
		.truncated = true,
		.end = STACK_END_TRUNCATED,
		.frames = sample_frames_b,
		.frame_count = 3,
	},
	{
		.id = 0,
		.live = {0, 3},
		.alloc = {100, 13},
		.free = {100, 10},
		.older = {0, 0},
		.end = STACK_END_NO_ROWS,
	},
};

static char *sample_cmdline[] = {"shop", "--port", "8080", NULL};

/* The usual case: the second of several snapshots of a process with three stacks. */
static inline struct snapshot sample_snapshot(void)
{
	return (struct snapshot){
		.time_ns = 1767323045678000000ULL, /* 2026-01-02T03:04:05.678Z */
		.elapsed_ns = 20123000000ULL,
		.interval_ns = 10000000000ULL,
		.pid = 1234,
		.comm = "shop",
		.cmdline = sample_cmdline,
		.live = {1367244, 1028},
		.alloc = {2730492, 2062},
		.free = {1363248, 1034},
		.unknown_frees = 17,
		.stacks = sample_stacks,
		.stack_count = SAMPLE_STACKS,
	};
}

/* Of such a snapshot, with its differences to the one before; report_drop(). */
static inline struct report *sample_report(const struct snapshot *s)
{
	static const int64_t deltas[SAMPLE_STACKS][2] = {{12288, 9}, {0, 0}, {-50, -5}};
	struct report *r = report_borrow(s);

	r->delta_bytes = 12238;
	r->delta_count = 4;
	for (size_t i = 0; i < s->stack_count; i++) {
		r->notes[i].delta_bytes = s->stack_count == SAMPLE_STACKS ? deltas[i][0] : 0;
		r->notes[i].delta_count = s->stack_count == SAMPLE_STACKS ? deltas[i][1] : 0;
	}
	return r;
}

/*
 * The format's whole output for one report with the first `shown_count` stacks; free() it. NULL:
 * it failed.
 */
static inline char *sample_export_report(const char *format_name,
					 const struct export_options *options,
					 const struct report *r, size_t shown_count)
{
	const struct exporter_format *format = export_find_format(format_name);
	const struct stack *shown[SAMPLE_STACKS];
	struct exporter *e;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err;

	if (!out || !format || shown_count > SAMPLE_STACKS)
		abort();
	for (size_t i = 0; i < shown_count; i++)
		shown[i] = &r->snapshot->stacks[i];
	e = format->open(out, options);
	if (!e)
		abort();
	err = format->snapshot(e, r, shown, shown_count);
	err |= format->close(e);
	fclose(out);
	if (!err)
		return text;
	free(text);
	return NULL;
}

/* The same for a snapshot with nothing beside it but the sample's differences. */
static inline char *sample_export(const char *format_name, const struct export_options *options,
				  const struct snapshot *s, size_t shown_count)
{
	struct report *r = sample_report(s);
	char *text = sample_export_report(format_name, options, r, shown_count);

	report_drop(r);
	return text;
}

/* One call of a format's snapshot(), with nothing shown. */
static inline int sample_take(const struct exporter_format *format, struct exporter *e,
			      const struct snapshot *s)
{
	struct report *r = sample_report(s);
	int err = format->snapshot(e, r, NULL, 0);

	report_drop(r);
	return err;
}

static inline int sample_record(struct recording_writer *w, const struct snapshot *s)
{
	struct report *r = sample_report(s);
	int err = recording_writer_add(w, r);

	report_drop(r);
	return err;
}

/* Bytes that the file grows by with another snapshot. */
static inline size_t sample_growth(struct recording_writer *w, FILE *out, const struct snapshot *s)
{
	long before = ftell(out);

	assert_int_equal(sample_record(w, s), 0);
	return (size_t)(ftell(out) - before);
}

/*
 * Whether the text is what tests/golden/NAME holds (the tests run in the repository's root); says
 * where it differs. UPDATE_GOLDEN=1 in the environment writes the file instead: look at the
 * difference before committing it.
 */
static inline bool sample_matches(const char *name, const char *text)
{
	char path[256];
	char *golden = calloc(1, 1 << 16);
	bool same = false;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	file = fopen(path, getenv("UPDATE_GOLDEN") ? "w+" : "r");
	if (file && golden) {
		if (getenv("UPDATE_GOLDEN")) {
			fputs(text, file);
			rewind(file);
		}
		fread(golden, 1, (1 << 16) - 1, file);
		same = !strcmp(golden, text);
	}
	if (!same)
		fprintf(stderr, "%s differs; expected:\n%s\nis:\n%s\n", path, golden ? golden : "",
			text);
	if (file)
		fclose(file);
	free(golden);
	return same;
}

#endif
