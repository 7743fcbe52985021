// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: whatever is in a recording, reading it and showing it in every format must not crash.
 * `make fuzz` builds and runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/made_recording.h"
#include "user/analysis/diff.h"
#include "user/analysis/inspection_order.h"
#include "user/analysis/rank.h"
#include "user/analysis/stack_trends.h"
#include "user/export/compare.h"
#include "user/export/export.h"
#include "user/recording/recording.h"
#include "user/recording/recording_format.h"

#define MAX_FORMATS 16
#define MAX_SHOWN   10

struct run {
	const struct exporter_format *formats[MAX_FORMATS];
	struct exporter *exporters[MAX_FORMATS];
	size_t count;
	FILE *null;
	struct stack_trends *trends;
	struct diff *diff;
	size_t snapshots;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
/* libFuzzer's; the unit test of the corpora is linked without. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static uint32_t get_le32(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void put_le32(uint8_t *to, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

/*
 * A random change would hardly ever get past the checksum, and what lies behind it is what is to be
 * tested.
 */
static void fix_checksums(uint8_t *data, size_t size)
{
	size_t at = RECORDING_PREFIX_SIZE;

	while (at < size && size - at > CHUNK_PREFIX_SIZE) {
		uint32_t len = get_le32(data + at), crc;

		if (len > size - at - CHUNK_PREFIX_SIZE)
			return;
		crc = (uint32_t)crc32(0, data + at + CHUNK_PREFIX_SIZE, len);
		put_le32(data + at + 4, crc);
		at += CHUNK_PREFIX_SIZE + len;
	}
}

/* Every fourth time a chunk more, of messages made from the tables of their fields. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	uint64_t random = seed + 1ull;
	struct wire made = {0};

	if (made_random(&random) % 4 || size < RECORDING_PREFIX_SIZE)
		return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, room) : size;
	made_messages(&made, &random);
	if (!made.failed && made.len && room - size > CHUNK_PREFIX_SIZE &&
	    room - size - CHUNK_PREFIX_SIZE >= made.len) {
		put_le32(data + size, (uint32_t)made.len);
		put_le32(data + size + 4, 0); /* fix_checksums() */
		memcpy(data + size + CHUNK_PREFIX_SIZE, made.data, made.len);
		size += CHUNK_PREFIX_SIZE + made.len;
	}
	wire_free(&made);
	return size;
}

/* Takes it over. */
static void show(struct run *run, struct snapshot *s)
{
	struct report *r = report_new(s);
	const struct stack *top[MAX_SHOWN];
	size_t n;

	if (!r)
		abort();

	stack_trends_update(run->trends, r);
	stack_trends_judge_all(run->trends, r);
	n = rank_top(r, RANK_LIVE, top, MAX_SHOWN);
	for (size_t i = 0; i < run->count; i++)
		run->formats[i]->snapshot(run->exporters[i], r, top, n);
	diff_add(run->diff, r, run->snapshots++ & 1);
	report_free(r);
}

static void show_survey(struct run *run, const struct survey_report *report)
{
	for (size_t i = 0; i < run->count; i++) {
		if (run->formats[i]->survey)
			run->formats[i]->survey(run->exporters[i], report);
	}
}

static void run_begin(struct run *run)
{
	static const struct export_options options = {
		.verbose = true, .show_older = true, .width = 80};
	const struct exporter_format *format;

	*run = (struct run){.null = fopen("/dev/null", "w"),
			    .trends = stack_trends_new(),
			    .diff = diff_new(BY_STACK, NULL)};
	if (!run->null || !run->trends || !run->diff)
		abort();
	/* The recording itself is one of them: what was read must be fit to be written. */
	for (size_t i = 0; run->count < MAX_FORMATS - 1 && (format = export_format_at(i)); i++)
		run->formats[run->count++] = format;
	run->formats[run->count++] = &export_recording;
	for (size_t i = 0; i < run->count; i++)
		run->exporters[i] = run->formats[i]->open(run->null, &options);
}

static void show_inspection(struct run *run, struct inspection *inspection)
{
	for (size_t i = 0; i < run->count; i++) {
		if (run->formats[i]->inspection)
			run->formats[i]->inspection(run->exporters[i], inspection, MAX_SHOWN);
	}
	MUST(!inspection_sort(inspection, INSPECTION_BY_COUNT));
	for (size_t i = 0; i < inspection->loss_count; i++)
		MUST(inspection->losses[i].group < inspection->group_count);
	inspection_free(inspection);
}

static void run_end(struct run *run)
{
	static const struct export_options options = {.verbose = true};
	const struct comparison *c = diff_finish(run->diff, false);

	if (c) {
		compare_text(run->null, &options, c, MAX_SHOWN);
		compare_json(run->null, &options, c, MAX_SHOWN);
		compare_folded(run->null, &options, c, MAX_SHOWN);
	}
	for (size_t i = 0; i < run->count; i++)
		run->formats[i]->close(run->exporters[i]);
	diff_free(run->diff);
	stack_trends_free(run->trends);
	fclose(run->null);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording_reader *reader;
	struct recording_item item;
	struct run run;
	uint8_t *copy;
	FILE *in;

	if (!size)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	fix_checksums(copy, size);
	in = fmemopen(copy, size, "r");
	if (in && !recording_reader_new(in, "fuzz", &reader)) {
		run_begin(&run);
		while (recording_reader_next(reader, &item) > 0) {
			if (item.survey)
				show_survey(&run, item.survey);
			else if (item.inspection)
				show_inspection(&run, item.inspection);
			else
				show(&run, item.snapshot);
		}
		run_end(&run);
		recording_reader_free(reader);
	}
	if (in)
		fclose(in);
	free(copy);
	return 0;
}
