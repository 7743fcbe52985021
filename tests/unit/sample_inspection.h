/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An inspection that has everything, for the tests of what prints and stores it. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_SAMPLE_INSPECTION_H
#define MEMLEAKBPF_TESTS_SAMPLE_INSPECTION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/export/export.h"
#include "user/model/inspection.h"

struct sample_inspection {
	struct inspection inspection; /* nothing of it is to be freed */
	char *cmdline[3];
	struct inspected_allocator allocators[2];
	struct inspected_mapping mappings[2];
	struct inspected_group groups[5];
	struct inspected_loss losses[2];
	struct inspected_way ways[5];
	struct inspected_keeper keepers[5];
	struct inspected_help helps[HELP_KINDS];
	struct managed_heap managed[2];
	struct managed_part parts[3];
	struct managed_kind kinds[2];
	struct managed_threads threads[3];
	struct managed_sample samples[2];
	struct managed_frame frames[3];
};

static inline void sample_inspection_groups(struct sample_inspection *s)
{
	struct inspected_group *g = s->groups;

	g[0] = (struct inspected_group){
		.kind = GROUP_CLASS,
		.name = (char *)"shop::Session",
		.module = (char *)"shop",
		.live = {480000, 10000},
		.verdict = {{4800, 100}, {0, 0}, {48, 1}, {475152, 9899}},
		.holders = {{(char *)"sessions (shop)\na block of 4.0 KiB", {384000, 8000}},
			    {(char *)"the stack of thread 1234", {48000, 1000}}},
		.holder_count = 2,
		.growth_known = true,
		.growth_bytes_per_s = 1234.5,
	};
	g[1] = (struct inspected_group){
		.kind = GROUP_SIZE,
		.size = 64,
		.beginning = 0xfeedfacecafe1234,
		.live = {64000, 1000},
		.verdict = {{0, 0}, {12800, 200}, {0, 0}, {51200, 800}},
		.growth_known = true,
		.growth_bytes_per_s = -10,
	};
	g[2] = (struct inspected_group){
		.kind = GROUP_PYTHON,
		.name = (char *)"dict",
		.live = {6400, 10},
		.verdict = {{0, 0}, {0, 0}, {0, 0}, {6400, 10}},
	};
	g[3] = (struct inspected_group){
		.kind = GROUP_TEXT,
		.live = {4096, 1},
		.verdict = {{4096, 1}, {0, 0}, {0, 0}, {0, 0}},
		.contents = (char *)"a lost text\0\x01",
		.contents_len = 13,
	};
	g[4] = (struct inspected_group){
		.kind = GROUP_SIZE,
		.size = 24,
		.live = {24, 1},
		.verdict = {{0, 0}, {0, 0}, {0, 0}, {24, 1}},
	};
}

static inline void sample_inspection_ways(struct sample_inspection *s)
{
	const struct inspected_way ways[ARRAY_SIZE(s->ways)] = {
		{.up = SIZE_MAX,
		 .name = (char *)"sessions (shop)",
		 .retained = {452096, 9001},
		 .alone = {400000, 8001},
		 .shared = {52096, 1000}},
		{.up = 0,
		 .name = (char *)"a block of 4.0 KiB",
		 .single = true,
		 .own = {4096, 1},
		 .retained = {452096, 9001}},
		{.up = 1,
		 .name = (char *)"shop::Session",
		 .linked = true,
		 .own = {384000, 8000},
		 .retained = {448000, 9000}},
		{.up = 2,
		 .name = (char *)"blocks of 64 B",
		 .own = {64000, 1000},
		 .retained = {64000, 1000}},
		{.up = SIZE_MAX,
		 .name = (char *)"nothing: it is lost",
		 .lost = true,
		 .retained = {21696, 301}}};

	memcpy(s->ways, ways, sizeof(ways));
}

static inline void sample_inspection_keepers(struct sample_inspection *s)
{
	const struct inspected_keeper keepers[] = {
		{.group = 1, .kept = 60000, .alone = 20000, .blocks = 700, .with = 0},
		{.group = 0, .kept = 30000, .blocks = 100, .with = SIZE_MAX},
		{.allocator = 1,
		 .group = 4,
		 .kept = 500,
		 .alone = 500,
		 .blocks = 1,
		 .with = SIZE_MAX}};
	const struct inspected_help helps[ARRAY_SIZE(s->helps)] = {
		{HELP_MALLOC_TRIM, 0, 212992, true, 8192, 40960, 0, 0},
		{HELP_ARENA_MAX, 0, 90000, false, 0, 0, 0, 0},
		{HELP_MMAP_THRESHOLD, 0, 131072, false, 0, 0, 12582912, 25165824},
		{HELP_PURGE, 1, 20480, false, 0, 0, 0, 0},
		{HELP_FLUSH, 1, 4096, false, 0, 0, 0, 0},
		{HELP_RELEASE, 1, 8192, true, 0, 0, 0, 0},
		{HELP_COLLECT, 1, 1048576, false, 0, 0, 0, 0}};

	memcpy(s->keepers, keepers, sizeof(keepers));
	memcpy(s->helps, helps, sizeof(helps));
	s->inspection.keepers = s->keepers;
	s->inspection.keeper_count = ARRAY_SIZE(keepers);
	s->inspection.helps = s->helps;
	s->inspection.help_count = ARRAY_SIZE(s->helps);
}

static inline void sample_inspection_managed(struct sample_inspection *s)
{
	const struct managed_part parts[] = {
		{"objects", {400000, 9000}}, {"unswept", {1600, 100}}, {"spans", {409600, 50}}};
	const struct managed_kind kinds[] = {
		{(char *)"main.Session", true, {320000, 5000}, true, 4096},
		{(char *)"objects of 64 B with pointers", false, {78400, 3900}, true, 0}};
	const struct managed_threads threads[] = {
		{(char *)"chan receive", (char *)"main.serve main.go:12",
		 (char *)"main.main main.go:30", false, 100, true, 2.5},
		{(char *)"running", NULL, NULL, false, 1, true, 0},
		{(char *)"GC worker (idle)", (char *)"runtime.gopark proc.go:364",
		 (char *)"runtime.gcBgMarkStartWorkers mgc.go:1159", true, 2, true, 0}};
	const struct managed_frame frames[] = {{(char *)"runtime.newobject", NULL, 0},
					       {(char *)"main.login", (char *)"/src/main.go", 44},
					       {NULL, NULL, 0}};

	memcpy(s->parts, parts, sizeof(parts));
	memcpy(s->kinds, kinds, sizeof(kinds));
	memcpy(s->threads, threads, sizeof(threads));
	memcpy(s->frames, frames, sizeof(frames));
	s->samples[0] = (struct managed_sample){s->frames, 3, {2048, 2}, {4096, 4}};
	s->samples[1] = (struct managed_sample){s->frames, 1, {0, 0}, {64, 1}};
	s->managed[0] = (struct managed_heap){
		.runtime = "Go",
		.version = "1.24.4",
		.read = true,
		.why = "2 of its 50 spans were being changed",
		.parts = s->parts,
		.part_count = 3,
		.kinds = s->kinds,
		.kind_count = 2,
		.threads = s->threads,
		.thread_group_count = 3,
		.thread_count = 101,
		.samples = s->samples,
		.sample_count = 2,
		.sample_bytes = 524288,
		.sample_known = true,
	};
	s->managed[1] = (struct managed_heap){
		.runtime = "Another",
		.why = "it was built by another 9.9, whose heap is not known",
	};
}

static inline void sample_inspection_fill(struct sample_inspection *s)
{
	*s = (struct sample_inspection){
		.cmdline = {(char *)"/srv/shop", (char *)"--all", NULL},
		.allocators = {{.name = "glibc",
				.version = "2.36",
				.arenas = 4,
				.in_use = {554520, 11012},
				.slack_bytes = 1000,
				.free_bytes = 300000,
				.cached_bytes = 20000,
				.free_resident = 250000,
				.free_whole_pages = 204800,
				.books_bytes = 180000,
				.kept_units = 40,
				.kept_resident = 90000,
				.cached_resident = 4096,
				.untold_resident = 16},
			       {.name = "jemalloc",
				.free_bytes = 24576,
				.free_resident = 20480,
				.free_whole_pages = 20480,
				.dirty_resident = 12288,
				.muzzy_resident = 8192,
				.unit = "slab",
				.units = 3,
				.kept_units = 1,
				.kept_resident = 500,
				.unbelieved_bytes = 8192,
				.unbelieved_resident = 4096,
				.why = "its extents do not agree with its pages"}},
		.mappings = {{0x7f0000000000, 1 << 20, 900000, NULL,
			      (char *)"pool (shop)\na block of 4.0 KiB"},
			     {0x7f1000000000, 1 << 20, 4096, (char *)"[anon:x]", NULL}},
		.losses = {{.group = 0, .lost = {4800, 100}, .kept = {12800, 200}},
			   {.group = 3, .lost = {4096, 1}}},
	};
	sample_inspection_groups(s);
	sample_inspection_ways(s);
	sample_inspection_managed(s);
	s->inspection = (struct inspection){
		.time_ns = 1767323045678000000ULL,
		.elapsed_ns = 60000000000ULL,
		.pid = 1234,
		.comm = "shop",
		.cmdline = s->cmdline,
		.final = true,
		.rss_anon = 2100000,
		.swap = 40960,
		.shmem = 8192,
		.parts = {554520, 1000, 250000, 180000, 8192, 135168, 904096, 65536, 42448},
		.allocators = s->allocators,
		.allocator_count = 2,
		.mappings = s->mappings,
		.ways = s->ways,
		.way_count = ARRAY_SIZE(s->ways),
		.managed = s->managed,
		.managed_count = ARRAY_SIZE(s->managed),
		.mapping_count = 2,
		.unknown_threads = 3,
		.no_registers = true,
		.verdict = {.state = VERDICT_TAKEN,
			    .classes = {{8896, 101}, {12800, 200}, {48, 1}, {532776, 10710}},
			    .pause_ns = 12345678,
			    .total_ns = 98765432,
			    .read_bytes = 2200000,
			    .unknown_bytes = 912288,
			    .unread_bytes = 4096,
			    .approximate = true},
		.groups = s->groups,
		.group_count = 5,
		.losses = s->losses,
		.loss_count = 2,
		.tool_bytes = 9000000,
	};
	sample_inspection_keepers(s);
}

/* The same of a process that is traced. */
static inline void sample_inspection_fill_traced(struct sample_inspection *s)
{
	sample_inspection_fill(s);
	s->inspection.traced = true;
	s->groups[0].origin = (struct inspected_origin){
		{96000, 2000}, {72000, 1500}, 0xfeed, (char *)"make_session"};
	s->groups[1].origin =
		(struct inspected_origin){{64000, 1000}, {64000, 1000}, 0xbeef, (char *)"buy"};
	s->groups[2].origin =
		(struct inspected_origin){.traced = {640, 1}, .most = {640, 1}, .stack_id = 1};
	s->keepers[3] = (struct inspected_keeper){.group = SIZE_MAX,
						  .kept = 50000,
						  .alone = 25000,
						  .blocks = 80,
						  .with = SIZE_MAX,
						  .stack_id = 0xfeed,
						  .function = (char *)"make_session",
						  .oldest_ms = 61000};
	s->keepers[4] = (struct inspected_keeper){
		.group = SIZE_MAX, .kept = 40000, .blocks = 90, .with = SIZE_MAX};
	s->inspection.keeper_count = ARRAY_SIZE(s->keepers);
	s->losses[0].origin =
		(struct inspected_origin){{2400, 50}, {960, 20}, 0xfeed, (char *)"make_session"};
}

/* As the format prints it; the caller frees it. NULL: it could not be written. */
static inline char *sample_inspection_export(const char *format_name,
					     const struct export_options *options,
					     const struct inspection *inspection, size_t top)
{
	const struct exporter_format *format = export_find_format(format_name);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct exporter *e = out && format ? format->open(out, options) : NULL;
	int err;

	if (!e)
		abort();
	err = format->inspection(e, inspection, top);
	err |= format->close(e);
	fclose(out);
	if (!err)
		return text;
	free(text);
	return NULL;
}

#endif
