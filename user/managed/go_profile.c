// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The runtime's own profile of allocations: a program that links runtime.MemProfile samples its allocations, whether
 * anybody asks or not (src/runtime/mprof.go). Each stack is a struct bucket; a list leads through all of them.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/managed/go_heap.h"
#include "user/process/elf_symbols.h"

/* Words of struct bucket; the addresses follow, then allocs and frees as of the last collection. */
enum {
	BUCKET_NEXT = 1, /* allnext */
	BUCKET_TYPE = 2,
	BUCKET_SIZE = 4,
	BUCKET_DEPTH = 5,
	BUCKET_STACK = 6,
};

#define BUCKET_MEMORY 1
#define DEPTH_MAX     1024
#define SAMPLES_MAX   65536
#define FRAMES_SHOWN  128
#define CANDIDATES    64
#define RATE_USUAL    (512u << 10)

struct profile {
	const struct go_heap *heap;
	struct managed_heap *out;
	uint64_t first; /* of the longest list so far; 0: none */
	size_t count;
	unsigned candidates;
	size_t room;
	uint64_t words[BUCKET_STACK + DEPTH_MAX + 2]; /* of one that is not whole in the image */
};

/* The words of a bucket up to those that count, until the next one is looked at; NULL: it is none. */
static const uint64_t *bucket_words(struct profile *p, uint64_t address)
{
	const struct managed_memory *memory = p->heap->memory;
	const uint64_t *w = go_words(memory, address, BUCKET_STACK + 1, p->words);
	struct go_function f;

	if (!w || w[BUCKET_TYPE] != BUCKET_MEMORY || !w[BUCKET_DEPTH] ||
	    w[BUCKET_DEPTH] > DEPTH_MAX || !w[BUCKET_SIZE] || w[BUCKET_SIZE] >> 47 ||
	    !go_program_function(&p->heap->program, w[BUCKET_STACK] - 1, &f))
		return NULL;
	return go_words(memory, address, BUCKET_STACK + w[BUCKET_DEPTH] + 2, p->words);
}

static size_t list_length(struct profile *p, uint64_t first)
{
	const uint64_t *w;
	size_t count = 0;

	for (uint64_t at = first; at && count < SAMPLES_MAX; at = w[BUCKET_NEXT], count++) {
		w = bucket_words(p, at);
		if (!w)
			return 0;
	}
	return count;
}

static int buckets_look(void *ctx, uint64_t address, const uint64_t *words, size_t own,
			size_t count)
{
	struct profile *p = ctx;

	(void)address;
	(void)count;
	for (size_t i = 0; i < own && p->candidates < CANDIDATES; i++) {
		size_t length;

		if (words[i] < 4096 || !bucket_words(p, words[i]))
			continue;
		p->candidates++;
		length = list_length(p, words[i]);
		if (length > p->count) {
			p->first = words[i];
			p->count = length;
		}
	}
	return 0;
}

static int sample_frames(const struct profile *p, const uint64_t *pcs, size_t depth,
			 struct managed_sample *sample)
{
	depth = depth < FRAMES_SHOWN ? depth : FRAMES_SHOWN;
	sample->frames = calloc(depth + 1, sizeof(*sample->frames));
	if (!sample->frames)
		return -ENOMEM;
	for (size_t i = 0; i < depth; i++) {
		struct managed_frame *frame = &sample->frames[sample->frame_count++];
		const char *function, *file;

		go_program_place(&p->heap->program, pcs[i] - 1, &function, &file, &frame->line);
		frame->function = function ? strdup(function) : NULL;
		frame->file = file ? strdup(file) : NULL;
		if ((function && !frame->function) || (file && !frame->file))
			return -ENOMEM;
	}
	return 0;
}

static int samples_take(struct profile *p)
{
	struct managed_heap *out = p->out;
	size_t seen = 0;
	int err = 0;

	for (uint64_t at = p->first; !err && at && seen < p->count; seen++) {
		const uint64_t *w = bucket_words(p, at), *counts;
		struct managed_sample *sample;

		if (!w)
			break;
		at = w[BUCKET_NEXT];
		counts = w + BUCKET_STACK + w[BUCKET_DEPTH];
		/* What was sampled since the last collection counts from the next one on. */
		if (!counts[0] || counts[1] > counts[0] || counts[0] >> 40)
			continue;
		if (!RESERVE_ITEM(out->samples, out->sample_count, p->room, 64))
			return -ENOMEM;
		sample = &out->samples[out->sample_count++];
		*sample = (struct managed_sample){
			.alloc = {counts[0] * w[BUCKET_SIZE], counts[0]},
			.live = {(counts[0] - counts[1]) * w[BUCKET_SIZE], counts[0] - counts[1]},
		};
		err = sample_frames(p, w + BUCKET_STACK, w[BUCKET_DEPTH], sample);
	}
	return err;
}

static int sample_order(const void *a, const void *b)
{
	const struct managed_sample *x = a, *y = b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	if (x->alloc.bytes != y->alloc.bytes)
		return x->alloc.bytes > y->alloc.bytes ? -1 : 1;
	return 0;
}

static int rate_symbol(void *ctx, const char *name, const GElf_Sym *sym)
{
	uint64_t *address = ctx;

	if (strcmp(name, "runtime.MemProfileRate") != 0)
		return 0;
	*address = sym->st_value;
	return 1;
}

/* What the program has set, where its symbols are there; else what is usual. */
static void profile_rate(const struct go_heap *heap, struct managed_heap *out)
{
	uint64_t address = 0, rate;

	out->sample_bytes = RATE_USUAL;
	if (elf_symbols(heap->program.elf, SHT_SYMTAB, rate_symbol, &address) == 1 &&
	    managed_read_word(heap->memory, address + heap->program.bias, &rate) && rate &&
	    !(rate >> 47)) {
		out->sample_bytes = rate;
		out->sample_known = true;
	}
}

int go_profile_read(const struct go_heap *heap, struct managed_heap *out)
{
	struct profile *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->heap = heap;
	p->out = out;
	err = go_scan_data(&heap->program, 0, buckets_look, p);
	if (!err && p->count) {
		err = samples_take(p);
		profile_rate(heap, out);
	}
	free(p);
	if (out->sample_count)
		qsort(out->samples, out->sample_count, sizeof(*out->samples), sample_order);
	return err;
}
