// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writes a recording of a program that never was, through the tool's own writer: what exports are
 * measured with.
 *     make_recording STACKS INTERVALS >FILE
 * A snapshot every 10 s; each has a tenth of the stacks changed. Stacks are 25 frames deep and
 * share their outer ones, as a program's do: each is a way from the root through a tree of
 * functions. The same arguments make the same file, but for the machine's name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/borrowed_report.h"
#include "user/base/parse.h"
#include "user/recording/recording.h"

#define FRAMES	    25
#define FUNCTIONS   4096
#define INTERVAL_NS 10000000000ull
#define BEGINNING   1767323045000000000ull /* 2026-01-02T03:04:05Z */

struct program {
	struct frame functions[FUNCTIONS];
	char names[FUNCTIONS][48];
	char files[FUNCTIONS / 32][32];
};

/* xorshift64 (Marsaglia 2003): the same numbers everywhere. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_program(struct program *p)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		char *file = p->files[i / 32];

		snprintf(p->names[i], sizeof(p->names[i]), "shop::part%zu::Worker::step_%zu(int)",
			 i / 64, i);
		snprintf(file, sizeof(p->files[0]), "src/part%zu/worker%zu.cc", i / 64, i / 32);
		p->functions[i] = (struct frame){
			.function = p->names[i],
			.module = "shop",
			.module_path = "/srv/shop/bin/shop",
			.file = file,
			.line = (uint32_t)(10 + i % 900),
			.inlined = i % 9 == 0,
			.offset = 0x1c,
			.module_offset = 0x1000 + 64 * i,
		};
	}
	p->functions[0].function = "malloc";
	p->functions[0].module = "libc.so.6";
	p->functions[0].module_path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	p->functions[0].inlined = false;
}

/* From the allocation function out to main; neighbours differ in their inner frames only. */
static void make_stack(struct program *p, const struct frame **frames, size_t number)
{
	size_t way = number;

	frames[0] = &p->functions[0];
	for (size_t depth = 1; depth < FRAMES; depth++) {
		frames[depth] = &p->functions[1 + (way * 31 + depth * 137) % (FUNCTIONS - 1)];
		way /= 2;
	}
}

static int write_snapshots(struct recording_writer *writer, struct snapshot *s, uint64_t intervals)
{
	/* Its notes have the frames, which stay. */
	struct report *report = report_borrow(s);
	uint64_t random = 88172645463325252ull;
	int err = 0;

	for (uint64_t n = 0; n < intervals && !err; n++) {
		s->elapsed_ns = (n + 1) * INTERVAL_NS;
		s->time_ns = BEGINNING + s->elapsed_ns;
		s->interval_ns = n ? INTERVAL_NS : 0;
		s->final = n + 1 == intervals;
		s->memory = (struct memory_use){.rss = (200 + n) << 20, .anon = (150 + n) << 20};
		for (size_t i = 0; i < s->stack_count; i++) {
			struct stack *stack = &s->stacks[i];
			uint64_t blocks = 1 + next_random(&random) % 8, size = 16 << i % 9;

			if (n && next_random(&random) % 10)
				continue;
			stack->alloc.count += 2 * blocks;
			stack->alloc.bytes += 2 * blocks * size;
			stack->free.count += blocks;
			stack->free.bytes += blocks * size;
			stack->live.count += blocks;
			stack->live.bytes += blocks * size;
			stack->older = stack->live;
		}
		err = recording_writer_add(writer, report);
	}
	report_drop(report);
	return err;
}

int main(int argc, char *argv[])
{
	static char *cmdline[] = {"/srv/shop/bin/shop", "--port", "8080", NULL};
	const struct recording_info info = {.tool_version = "bench"};
	struct snapshot s = {.pid = 1234, .comm = "shop", .cmdline = cmdline};
	struct program *program = calloc(1, sizeof(*program));
	struct recording_writer *writer = NULL;
	const struct frame **frames;
	uint64_t stacks, intervals;

	if (argc != 3 || parse_count(argv[1], 1, 1000000, &stacks) ||
	    parse_count(argv[2], 1, 1000000, &intervals)) {
		fputs("usage: make_recording STACKS INTERVALS >FILE\n", stderr);
		return 2;
	}
	s.stack_count = stacks;
	s.stacks = calloc(stacks, sizeof(*s.stacks));
	frames = calloc(stacks * FRAMES, sizeof(struct frame *));
	if (!program || !s.stacks || !frames)
		return 1;
	make_program(program);
	for (size_t i = 0; i < stacks; i++) {
		make_stack(program, &frames[i * FRAMES], i);
		s.stacks[i].id = 0x9e3779b97f4a7c15ull * (i + 1);
		s.stacks[i].frames = &frames[i * FRAMES];
		s.stacks[i].frame_count = FRAMES;
	}
	if (recording_writer_new(stdout, &info, &writer) ||
	    write_snapshots(writer, &s, intervals)) {
		perror("make_recording");
		return 1;
	}
	recording_writer_free(writer);
	free(frames);
	free(s.stacks);
	free(program);
	return 0;
}
