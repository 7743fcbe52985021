// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What hangs on what, on images made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/kind_fields.h"
#include "user/heap/ways.h"

#define DATA 0x555555600000ull /* variables of 256 bytes each: "var0", "var1", … */
#define HEAP 0x555555700000ull

static const char maps[] = "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "555555700000-555555900000 rw-p 00000000 00:00 0 [heap]\n";

static size_t names_asked;

static int name_data(void *ctx, const struct mapping *file, uint64_t address, const char **name,
		     uint64_t *offset, uint64_t *vaddr)
{
	static char text[16];

	(void)ctx;
	(void)file;
	names_asked++;
	snprintf(text, sizeof(text), "var%u", (unsigned)((address - DATA) / 256));
	*name = text;
	*offset = (address - DATA) % 256;
	*vaddr = address;
	return 0;
}

static void name_block(void *ctx, FILE *out, uint32_t block)
{
	(void)ctx;
	(void)out;
	(void)block;
}

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 0x10000);
	fake_region(image, HEAP, 0x200000);
	return image;
}

/* Kinds are sizes. */
static uint32_t kind(void *ctx, uint32_t block)
{
	return (uint32_t)heap_block_at(ctx, block).size;
}

struct found {
	struct heap_image *image;
	struct reach *reach;
	struct fields *fields;
	struct ways ways;
};

static void find(struct found *f, struct heap_image *image)
{
	const struct fields_kinds kinds = {image, kind, 4096};
	struct reach_options options = {.is_weak = fields_is_weak};
	struct held_by held = {
		.image = image,
		.names = {.data = name_data, .block = name_block, .heap = "heap that is no block"}};
	struct ways_of how = {.image = image, .names = &held, .ctx = image, .kind = kind};

	fake_finish(image);
	f->image = image;
	assert_int_equal(fields_new(image, &kinds, &f->fields), 0);
	options.weak_ctx = f->fields;
	assert_int_equal(reach_new(image, &options, &f->reach), 0);
	how.reach = f->reach;
	held.reach = f->reach;
	assert_int_equal(ways_find(&how, &f->ways), 0);
}

static void end(struct found *f)
{
	ways_release(&f->ways);
	reach_free(f->reach);
	fields_free(f->fields);
	heap_image_free(f->image);
}

/* Bytes that hang on the root of that name. */
static uint64_t of_root(const struct found *f, const char *name)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < f->ways.count; i++) {
		const struct way *way = &f->ways.items[i];

		if (way->up == WAY_NONE && !strcmp(f->ways.roots[way->kind], name))
			bytes += way->retained.bytes;
	}
	return bytes;
}

static void blocks(struct heap_image *image, uint64_t first, size_t count, uint64_t size)
{
	for (size_t i = 0; i < count; i++)
		fake_block(image, first + i * 128, size);
}

/* A list is one way, and what its blocks lead to another; the rest hangs on what holds it, or on nothing. */
static void list_with_payloads(void **state)
{
	struct heap_image *image = new_image();
	const struct way *list, *payloads;
	struct found f;

	(void)state;
	blocks(image, HEAP, 100, 24);
	blocks(image, HEAP + 0x10000, 100, 64);
	fake_block(image, HEAP + 0x20000, 48); /* lost, with one below it */
	fake_block(image, HEAP + 0x21000, 32);
	for (uint64_t i = 0; i < 100; i++) {
		if (i < 99)
			fake_word(image, HEAP + i * 128, HEAP + (i + 1) * 128);
		fake_word(image, HEAP + i * 128 + 8, HEAP + 0x10000 + i * 128);
	}
	fake_word(image, HEAP + 0x20000, HEAP + 0x21000);
	fake_word(image, DATA + 256, HEAP);
	find(&f, image);
	assert_int_equal(f.ways.whole.bytes, 100 * 88 + 80);
	assert_int_equal(of_root(&f, "var1 (prog)"), 100 * 88);
	assert_int_equal(of_root(&f, f.ways.roots[f.ways.lost]), 80);
	list = &f.ways.items[f.ways.of[50]];
	payloads = &f.ways.items[f.ways.of[150]];
	assert_int_equal(list->own.count, 100);
	assert_true(list->linked);
	assert_int_equal(list->block, UINT32_MAX);
	assert_int_equal(payloads->own.bytes, 6400);
	assert_int_equal(payloads->up, f.ways.of[50]);
	assert_int_equal(f.ways.items[list->up].up, WAY_NONE);
	assert_int_equal(list->retained.bytes, 8800);
	end(&f);
}

/*
 * A word in one of many blocks of a kind leads into the middle of a list, which is the list's own all the same; but
 * what nothing else leads to is that word's.
 */
static void leftovers(void **state)
{
	struct heap_image *image = new_image();
	struct found f;

	(void)state;
	blocks(image, HEAP, 100, 24);
	blocks(image, HEAP + 0x10000, 100, 64);
	fake_block(image, HEAP + 0x20000, 40);
	for (uint64_t i = 0; i < 100; i++) {
		if (i < 99)
			fake_word(image, HEAP + i * 128, HEAP + (i + 1) * 128);
		fake_word(image, DATA + 512 + 8 * (i % 32) + 0x1000 * (i / 32),
			  HEAP + 0x10000 + i * 128);
	}
	fake_word(image, HEAP + 0x10000 + 56, HEAP + 50 * 128);
	fake_word(image, HEAP + 0x10000 + 48, HEAP + 0x20000);
	fake_word(image, DATA, HEAP);
	find(&f, image);
	assert_int_equal(of_root(&f, "var0 (prog)"), 100 * 24);
	assert_int_equal(of_root(&f, "var2 (prog)"), 32 * 64 + 40);
	assert_int_equal(reach_holder(f.reach, 200), HEAP + 0x10000 + 48);
	end(&f);
}

/* Of a table's words the first and the last are asked for a name, and some between; not all of them. */
static void tables(void **state)
{
	struct heap_image *image = fake_image(maps);
	struct found f;
	uint64_t all = 0;

	(void)state;
	fake_region(image, DATA, 0x10000);
	fake_region(image, HEAP, 0x200000);
	/* var0 has 32 words, as each; var3 has one, and var4 to var9 none. */
	for (uint64_t i = 0; i < 97; i++)
		fake_word(image, DATA + 8 * i, HEAP + i * 128);
	for (uint64_t i = 97; i < 129; i++)
		fake_word(image, DATA + 2560 + 8 * (i - 97), HEAP + i * 128);
	blocks(image, HEAP, 129, 24);
	names_asked = 0;
	find(&f, image);
	assert_int_equal(of_root(&f, "var0 (prog)"), 32 * 24);
	assert_int_equal(of_root(&f, "var1 (prog)"), 32 * 24);
	assert_int_equal(of_root(&f, "var2 (prog)"), 32 * 24);
	assert_int_equal(of_root(&f, "var3 (prog)"), 24);
	assert_int_equal(of_root(&f, "var10 (prog)"), 32 * 24);
	assert_true(names_asked < 100);
	for (uint32_t i = 0; i < f.ways.count; i++)
		all += f.ways.items[i].up == WAY_NONE ? f.ways.items[i].retained.bytes : 0;
	assert_int_equal(all, f.ways.whole.bytes);
	end(&f);
}

/* What keeps much stands by itself; not where others like it hang beside it, nor at a list's head. */
static void alone(void **state)
{
	struct heap_image *image = new_image();
	struct found f;

	(void)state;
	fake_block(image, HEAP, 4000);
	fake_block(image, HEAP + 0x2000, 5000);
	fake_block(image, HEAP + 0x4000, 5000);
	fake_word(image, DATA, HEAP);
	fake_word(image, HEAP, HEAP + 0x2000);
	fake_word(image, HEAP + 8, HEAP + 0x4000);
	find(&f, image);
	assert_int_equal(f.ways.items[f.ways.of[0]].block, 0);
	assert_int_equal(f.ways.items[f.ways.of[1]].block, UINT32_MAX);
	assert_int_equal(f.ways.of[1], f.ways.of[2]);
	assert_false(f.ways.items[f.ways.of[1]].linked);
	end(&f);
}

#define GRAPHS	  400
#define BLOCKS	  20
#define VARIABLES 3

/* Marks what can be reached from a variable. */
static void mark(bool edges[VARIABLES + BLOCKS][BLOCKS], size_t from, bool *seen)
{
	for (size_t to = 0; to < BLOCKS; to++) {
		if (!edges[from][to] || seen[to])
			continue;
		seen[to] = true;
		mark(edges, VARIABLES + to, seen);
	}
}

static void random_edges(struct heap_image *image, unsigned seed,
			 bool edges[VARIABLES + BLOCKS][BLOCKS])
{
	const size_t count = 12 + seed % 40;

	for (size_t n = 0; n < count; n++) {
		size_t from = (size_t)rand_r(&seed) % (VARIABLES + BLOCKS);
		size_t to = (size_t)rand_r(&seed) % BLOCKS, used = 0;
		uint64_t at =
			from < VARIABLES ? DATA + from * 256 : HEAP + (from - VARIABLES) * 128;

		for (size_t other = 0; other < BLOCKS; other++)
			used += edges[from][other];
		if (edges[from][to] || used == 8)
			continue;
		edges[from][to] = true;
		fake_word(image, at + 8 * used, HEAP + to * 128);
	}
}

/* What is one variable's alone, and what several have, in random graphs: as if each variable were followed by itself. */
static void alone_or_shared(void **state)
{
	(void)state;
	for (unsigned graph = 0; graph < GRAPHS; graph++) {
		bool edges[VARIABLES + BLOCKS][BLOCKS] = {0}, seen[VARIABLES][BLOCKS] = {0};
		struct heap_image *image = new_image();
		uint64_t alone = 0, shared = 0, found_alone = 0, found_shared = 0;
		struct found f;

		/* Each of a kind of its own: none of its words is left over. */
		for (uint64_t b = 0; b < BLOCKS; b++)
			fake_block(image, HEAP + b * 128, 64 + b);
		random_edges(image, graph, edges);
		for (size_t v = 0; v < VARIABLES; v++)
			mark(edges, v, seen[v]);
		for (uint64_t b = 0; b < BLOCKS; b++) {
			unsigned holders = seen[0][b] + seen[1][b] + seen[2][b];

			alone += holders == 1 ? 64 + b : 0;
			shared += holders > 1 ? 64 + b : 0;
		}
		find(&f, image);
		for (uint32_t i = 0; i < f.ways.count; i++) {
			if (f.ways.items[i].up != WAY_NONE)
				continue;
			found_alone += f.ways.items[i].alone.bytes;
			found_shared += f.ways.items[i].shared.bytes;
		}
		if (found_alone != alone || found_shared != shared)
			fail_msg("graph %u: %u alone, %u found", graph, (unsigned)alone,
				 (unsigned)found_alone);
		end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_with_payloads),
		cmocka_unit_test(leftovers),
		cmocka_unit_test(tables),
		cmocka_unit_test(alone),
		cmocka_unit_test(alone_or_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
