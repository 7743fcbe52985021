// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The classes that marking gives, on images made by hand; the rules are in Valgrind's manual, 4.2.8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/block_index.h"
#include "user/heap/reach.h"
#include "user/model/snapshot.h"

#define DATA 0x555555600000ull /* writable data of the program: roots */
#define HEAP 0x555555700000ull
#define FAR  0x7ffff0000000ull
#define TEXT 0x555555554000ull
#define RO   0x555555610000ull

static const char maps[] = "555555554000-555555560000 r-xp 00000000 08:01 77 /bin/prog\n"
			   "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "555555610000-555555611000 r--p 00011000 08:01 77 /bin/prog\n"
			   "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
			   "7ffff0000000-7ffff1000000 rw-p 00000000 00:00 0 \n";

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 0x1000);
	fake_region(image, RO, 0x1000);
	fake_region(image, HEAP, 0x10000);
	fake_region(image, FAR, 0x10000);
	return image;
}

/* "DIPR": one letter for each block, in order of address. */
static void expect_with(struct heap_image *image, const struct reach_options *options,
			const char *classes)
{
	static const char letters[] = "DIPR";
	struct reach *reach;
	char got[FAKE_MAX + 1] = "";

	fake_finish(image);
	assert_int_equal(image->block_count, strlen(classes));
	assert_int_equal(reach_new(image, options, &reach), 0);
	for (size_t i = 0; i < image->block_count; i++)
		got[i] = letters[reach_class(reach, i)];
	assert_string_equal(got, classes);
	reach_free(reach);
	heap_image_free(image);
}

static void expect(struct heap_image *image, const char *classes)
{
	const struct reach_options options = {.heuristics = REACH_ALL};

	expect_with(image, &options, classes);
}

static void roots(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (int i = 0; i < 5; i++)
		fake_block(image, HEAP + 64 * (uint64_t)i, 64);
	fake_block(image, FAR + 0x100, 64);
	fake_word(image, DATA + 8, HEAP);		/* a global */
	fake_word(image, FAR, HEAP + 64);		/* other writable memory */
	fake_thread(image, FAR + 0x800, 0, HEAP + 128); /* a register */
	fake_word(image, RO, HEAP + 192);		/* a relocated table */
	fake_word(image, HEAP + 128 + 8, FAR + 0x100);	/* block to block */
	fake_word(image, HEAP + 256 + 8, HEAP + 256);	/* to itself: lost */
	expect(image, "RRRRDR");
}

/*
 * What the allocator gave beyond what was asked for may be in use. It is part of the block as far
 * as it holds, and is no place of its own.
 */
static void room(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		fake_block(image, HEAP + 128 * i, i % 2 ? 64 : 40);
		if (i % 2 == 0)
			assert_int_equal(
				heap_image_add_dead(image, HEAP + 128 * i, HEAP + 128 * i + 64), 0);
	}
	heap_image_finish(image);
	for (uint64_t i = 0; i < 4; i += 2)
		assert_int_equal(heap_image_set_room(image, i, HEAP + 128 * i + 64), 0);
	fake_word(image, DATA + 8, HEAP);
	fake_word(image, HEAP + 56, HEAP + 128);
	fake_word(image, HEAP + 256 + 56, HEAP + 384); /* of a lost one */
	fake_word(image, DATA + 16, HEAP + 256 + 48);  /* not into the block */
	expect(image, "RRDD");
}

static void interior(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (int i = 0; i < 5; i++)
		fake_block(image, HEAP + 64 * (uint64_t)i, 60);
	fake_word(image, DATA, HEAP + 24);     /* into the middle */
	fake_word(image, HEAP + 8, HEAP + 64); /* below it, to a beginning: possible all the same */
	fake_word(image, DATA + 8, HEAP + 128 + 59);  /* the last byte */
	fake_word(image, DATA + 16, HEAP + 192 + 60); /* one behind: no pointer to it */
	fake_word(image, DATA + 24, HEAP + 256 + 8);  /* middle and, later, beginning */
	fake_word(image, DATA + 32, HEAP + 256);
	expect(image, "PPPDR");
}

/* Found possible first, then by a certain way: what hangs below must follow. */
static void upgraded(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	fake_block(image, HEAP, 64);
	fake_block(image, HEAP + 64, 64);
	fake_block(image, HEAP + 128, 64);
	fake_word(image, DATA, HEAP + 32);
	fake_word(image, HEAP, HEAP + 64);
	fake_word(image, FAR, HEAP + 128);
	fake_word(image, HEAP + 128, HEAP);
	expect(image, "RRR");
}

static void cliques(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (int i = 0; i < 9; i++)
		fake_block(image, HEAP + 64 * (uint64_t)i, 64);
	/* 0 -> 1 -> 2 */
	fake_word(image, HEAP, HEAP + 64);
	fake_word(image, HEAP + 64, HEAP + 128);
	/* 4 -> 3: the leader comes later in memory */
	fake_word(image, HEAP + 256, HEAP + 192);
	/* 5 <-> 6: of a cycle one is definite */
	fake_word(image, HEAP + 320, HEAP + 384);
	fake_word(image, HEAP + 384, HEAP + 320);
	/* 8 -> 7, and 7 into the middle of itself */
	fake_word(image, HEAP + 512, HEAP + 448 + 16);
	fake_word(image, HEAP + 448, HEAP + 448 + 8);
	expect(image, "DIIIDDIID");
}

/* Addresses do not decide what hangs below what. */
static void rings_below(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (int i = 0; i < 10; i++)
		fake_block(image, HEAP + 64 * (uint64_t)i, 64);
	/* 0 -> 1 -> 2 -> 0, and 3 points to 1, which is not the ring's first */
	fake_word(image, HEAP, HEAP + 64);
	fake_word(image, HEAP + 64, HEAP + 128);
	fake_word(image, HEAP + 128, HEAP);
	fake_word(image, HEAP + 192, HEAP + 64);
	/* 4 -> 5 <- 6: two heads, of which neither hangs below the other */
	fake_word(image, HEAP + 256, HEAP + 320);
	fake_word(image, HEAP + 384, HEAP + 320);
	/* 7 <-> 8, and 9 -> 8: a ring below a head that comes last */
	fake_word(image, HEAP + 448, HEAP + 512);
	fake_word(image, HEAP + 512, HEAP + 448);
	fake_word(image, HEAP + 576, HEAP + 512);
	expect(image, "IIIDDIDIID");
}

/* glibc's thread control block names the vector of TLS blocks by its second entry. */
static void tls_vector(void **state)
{
	(void)state;
	for (int glibc = 0; glibc < 2; glibc++) {
		struct heap_image *image = new_image();

		fake_block(image, HEAP, 64);
		fake_block(image, HEAP + 64, 64);
		fake_word(image, HEAP + 32, HEAP + 64);
		fake_word(image, FAR + 0x800, FAR + 0x800);
		fake_word(image, FAR + 0x808, HEAP + 16);
		fake_word(image, FAR + 0x810, glibc ? FAR + 0x800 : 0);
		fake_thread(image, FAR + 0x700, FAR + 0x800, 0);
		expect(image, glibc ? "RR" : "PP");
	}
}

static void heuristics(void **state)
{
	const struct reach_options none = {0};
	struct heap_image *image;

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		image = new_image();
		/* std::string: length 5, capacity 39, then characters with their NUL */
		fake_block(image, HEAP, 64);
		fake_word(image, HEAP, 5);
		fake_word(image, HEAP + 8, 39);
		fake_word(image, HEAP + 24, 0x6f6c6c6568ull);
		fake_word(image, DATA, HEAP + 24);
		/* length64 */
		fake_block(image, HEAP + 64, 64);
		fake_word(image, HEAP + 64, 56);
		fake_word(image, DATA + 8, HEAP + 72);
		/* new[7] of 8 bytes each */
		fake_block(image, HEAP + 128, 64);
		fake_word(image, HEAP + 128, 7);
		fake_word(image, DATA + 16, HEAP + 136);
		/* two bases: tables with a null entry and a function each */
		fake_block(image, HEAP + 192, 64);
		fake_word(image, RO + 8, TEXT + 0x100);
		fake_word(image, RO + 16, TEXT + 0x200);
		fake_word(image, HEAP + 192, RO);
		fake_word(image, HEAP + 208, RO + 16);
		fake_word(image, DATA + 24, HEAP + 208);
		/* nearly: the second "table" leads to data */
		fake_block(image, HEAP + 256, 64);
		fake_word(image, RO + 24, DATA);
		fake_word(image, HEAP + 256, RO);
		fake_word(image, HEAP + 272, RO + 24);
		fake_word(image, DATA + 32, HEAP + 272);
		if (pass)
			expect_with(image, &none, "PPPPP");
		else
			expect(image, "RRRRP");
	}
}

static bool never(void *ctx, uint32_t stack)
{
	(void)stack;
	++*(int *)ctx;
	return false;
}

static void new_array_only(void **state)
{
	struct heap_image *image = new_image();
	int asked = 0;
	const struct reach_options options = {
		.heuristics = REACH_NEWARRAY, .is_new_array = never, .ctx = &asked};

	(void)state;
	fake_block(image, HEAP, 64);
	fake_word(image, HEAP, 7);
	fake_word(image, DATA, HEAP + 8);
	expect_with(image, &options, "P");
	assert_int_equal(asked, 1);
}

/* new T[0] is its cookie alone, and the pointer to it the end of its block. */
static void empty_arrays(void **state)
{
	static const struct reach_options newarray = {.heuristics = REACH_NEWARRAY}, none = {0};

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		struct heap_image *image = new_image();

		fake_block(image, HEAP, 8);
		fake_word(image, DATA, HEAP + 8);
		/* another block begins where the array ends, and both are held */
		fake_block(image, HEAP + 64, 8);
		fake_block(image, HEAP + 72, 8);
		fake_word(image, DATA + 8, HEAP + 72);
		/* below a lost block */
		fake_block(image, HEAP + 128, 64);
		fake_block(image, HEAP + 256, 8);
		fake_word(image, HEAP + 128, HEAP + 264);
		/* no cookie of an empty array; not the end */
		fake_block(image, HEAP + 320, 8);
		fake_word(image, HEAP + 320, 3);
		fake_word(image, DATA + 16, HEAP + 328);
		fake_block(image, HEAP + 384, 8);
		fake_word(image, DATA + 24, HEAP + 400);
		/* a pool begins where the array ends, and with it the pool's first block */
		fake_block(image, HEAP + 448, 8);
		fake_block(image, HEAP + 456, 16);
		fake_block(image, HEAP + 456, 64);
		fake_word(image, DATA + 32, HEAP + 456);
		/* the last of all blocks: behind it there is none */
		fake_block(image, FAR + 256, 8);
		fake_word(image, DATA + 40, FAR + 264);
		if (pass)
			expect_with(image, &none, "DDRDDDDDDRD");
		else
			expect_with(image, &newarray, "RRRDIDDRDRR");
	}
}

/*
 * A block of 8 bytes on a page that was never touched is no array; the page's zeros in a core by gcore may be: nobody
 * knows whether it was touched, and nothing is called lost by that.
 */
static void empty_arrays_untouched(void **state)
{
	(void)state;
	for (int in_core = 0; in_core < 2; in_core++) {
		struct heap_image *image = new_image();
		struct memory_range *untouched = calloc(1, sizeof(*untouched));

		assert_non_null(untouched);
		fake_block(image, FAR + 0x20000, 8);
		fake_block(image, FAR + 0x20008, 8);
		fake_word(image, DATA, FAR + 0x20008);
		if (in_core)
			fake_region(image, FAR + 0x20000, 0x1000);
		*untouched = (struct memory_range){FAR + 0x20000, FAR + 0x21000};
		image->memory->untouched = untouched;
		image->memory->untouched_count = in_core;
		expect(image, in_core ? "RR" : "DR");
	}
}

static void tags(void **state)
{
	const struct reach_options tagged = {.tagged = true}, plain = {0};

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		struct heap_image *image = new_image();

		fake_block(image, HEAP, 64);
		fake_block(image, HEAP + 64, 64);
		fake_block(image, FAR + 64, 64);
		fake_word(image, DATA, HEAP | 5);
		fake_word(image, DATA + 8, (HEAP + 64) | 0x2aull << 57);
		fake_word(image, DATA + 16, (FAR + 64) | 0x7b00ull << 48);
		if (pass)
			expect_with(image, &plain, "PDD");
		else
			expect_with(image, &tagged, "RRR");
	}
}

/* Words that are dead, or that belong to a block, are no roots. */
static void dead_ranges(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	fake_block(image, HEAP + 256, 61);
	fake_block(image, HEAP + 512, 64);
	fake_block(image, HEAP + 1024, 64);
	fake_word(image, HEAP + 16, HEAP + 256);
	fake_word(image, HEAP + 256 + 56, HEAP + 512); /* the block's last word, partly its own */
	fake_word(image, HEAP + 48, HEAP + 1024);
	assert_int_equal(heap_image_add_dead(image, HEAP + 8, HEAP + 32), 0);
	assert_int_equal(heap_image_add_dead(image, HEAP, HEAP + 24), 0);
	expect(image, "DDR");
}

static void unknown_memory(void **state)
{
	const struct reach_options options = {0};

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct heap_image *image = new_image();
		struct snapshot sums = {0};
		struct reach *reach;

		fake_block(image, HEAP, 0x8000);
		fake_thread(image, FAR + 0x20000, 0, 0);
		image->all_known = known;
		fake_finish(image);
		assert_int_equal(reach_new(image, &options, &reach), 0);
		/* The rest of the heap; the other mapping holds a stack. */
		reach_sum(reach, &sums);
		assert_int_equal(sums.verdict.unknown_bytes, known ? 0 : 0x8000);
		reach_free(reach);
		heap_image_free(image);
	}
}

/* Of all that hold a block the one is named that is most likely its owner's, wherever it lies. */
static void holders(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	static const char text[] = "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
				   "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
				   "7ffff0000000-7ffff1000000 rw-p 00000000 00:00 0 \n"
				   "7ffff2000000-7ffff3000000 rw-p 00000000 00:00 0 \n";
	const uint64_t stack = 0x7ffff0000000ull, tls = stack + 0x8000, low = 0x7ffff2000000ull;
	struct heap_image *image = fake_image(text);
	struct reach *reach;

	(void)state;
	fake_region(image, DATA, 0x1000);
	fake_region(image, HEAP, 0x10000);
	fake_region(image, stack, 0x10000);
	fake_region(image, low, 0x1000);
	for (uint64_t i = 0; i < 6; i++)
		fake_block(image, HEAP + 64 * i, 64);
	fake_thread(image, stack + 0x100, tls, HEAP);
	image->memory->threads[0].words =
		realloc(image->memory->threads[0].words, 6 * sizeof(uint64_t));
	assert_non_null(image->memory->threads[0].words);
	image->memory->threads[0].word_count = 6;
	/* The first is held by all, each further one by one less; the last by the first, too. */
	for (uint64_t i = 0; i < 6; i++) {
		image->memory->threads[0].words[i] = HEAP + 64 * i;
		if (i < 4)
			fake_word(image, stack + 0x200 + 8 * i, HEAP + 64 * i);
		if (i < 3)
			fake_word(image, low + 8 * i, HEAP + 64 * i);
		if (i < 2)
			fake_word(image, tls - 8 - 8 * i, HEAP + 64 * i);
		if (i < 1)
			fake_word(image, DATA + 0x40, HEAP);
	}
	fake_word(image, HEAP + 8, HEAP + 320);
	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	reach_settle(reach);
	assert_int_equal(reach_holder(reach, 0), DATA + 0x40);
	assert_int_equal(reach_holder(reach, 1), tls - 16);
	assert_int_equal(reach_holder(reach, 2), low + 16);
	assert_int_equal(reach_holder(reach, 3), stack + 0x218);
	assert_int_equal(reach_holder(reach, 4), REACH_REGISTER);
	assert_int_equal(reach_holder(reach, 5), HEAP + 8);
	reach_free(reach);
	heap_image_free(image);
}

/* Books that lie: overlapping, wrapping, empty, unaligned, enormous and equal blocks. */
static void hostile_books(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL, .tagged = true};
	struct heap_image *image = new_image();
	struct reach *reach;

	(void)state;
	fake_block(image, UINT64_MAX - 8, 64);
	fake_block(image, UINT64_MAX, 0);
	fake_block(image, 0, 0);
	fake_block(image, 1, UINT64_MAX - 1);
	fake_block(image, HEAP + 3, 1ull << 62);
	fake_block(image, HEAP + 3, 5);
	fake_block(image, HEAP + 3, 5);
	fake_block(image, HEAP + 5, 0);
	fake_block(image, FAR + 0xffff, 1ull << 40);
	for (uint64_t i = 0; i < 512; i++)
		fake_word(image, DATA + 8 * i, HEAP + i - 8);
	fake_word(image, HEAP, UINT64_MAX);
	fake_word(image, HEAP + 8, 1);
	fake_thread(image, HEAP + 4, 0, UINT64_MAX - 8);
	fake_thread(image, 0, UINT64_MAX, 0);
	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	for (size_t i = 0; i < image->block_count; i++)
		assert_true((unsigned)reach_class(reach, i) < VERDICT_CLASSES);
	reach_free(reach);
	heap_image_free(image);
}

/* The index against a plain search, over blocks near and far, small and huge. */
static void index_finds(void **state)
{
	struct heap_image *image = fake_image(maps);
	struct block_index *index;
	uint64_t address = HEAP;

	(void)state;
	srandom(7);
	for (int i = 0; i < 2000; i++) {
		uint64_t size = (uint64_t)random() % 300;

		if (i % 100 == 99)
			size = (uint64_t)random() % (200 << 20);
		fake_block(image, address, size);
		address += size + (uint64_t)random() % 64 + (i % 50 ? 0 : 1ull << (random() % 40));
	}
	fake_finish(image);
	index = block_index_new(image);
	assert_non_null(index);
	for (size_t i = 0; i < image->block_count; i++) {
		const struct heap_block b = heap_block_at(image, i);

		assert_int_equal(block_index_find(index, b.address), i);
		if (b.size) {
			assert_int_equal(block_index_find(index, heap_block_end(image, i) - 1), i);
			assert_int_equal(block_index_find(index, b.address + b.size / 2), i);
		}
		if (i + 1 < image->block_count && b.size &&
		    heap_block_end(image, i) < heap_block_address(image, i + 1))
			assert_int_equal(block_index_find(index, heap_block_end(image, i)),
					 BLOCK_NONE);
	}
	assert_int_equal(block_index_find(index, HEAP - 1), BLOCK_NONE);
	assert_int_equal(block_index_find(index, UINT64_MAX), BLOCK_NONE);
	assert_int_equal(block_index_find(index, 0), BLOCK_NONE);
	block_index_free(index);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots),
		cmocka_unit_test(room),
		cmocka_unit_test(interior),
		cmocka_unit_test(upgraded),
		cmocka_unit_test(cliques),
		cmocka_unit_test(rings_below),
		cmocka_unit_test(tls_vector),
		cmocka_unit_test(heuristics),
		cmocka_unit_test(new_array_only),
		cmocka_unit_test(empty_arrays),
		cmocka_unit_test(empty_arrays_untouched),
		cmocka_unit_test(tags),
		cmocka_unit_test(dead_ranges),
		cmocka_unit_test(unknown_memory),
		cmocka_unit_test(holders),
		cmocka_unit_test(hostile_books),
		cmocka_unit_test(index_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
