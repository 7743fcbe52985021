// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Blocks that nobody saw being allocated: among the others, and as what leads to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/reach.h"
#include "user/heap/walker.h"
#include "user/model/snapshot.h"

#define DATA  0x555555600000ull /* writable data of the program: roots */
#define HEAP  0x555555700000ull
#define STACK 0x7ffff0000000ull
#define ENDED 0x7ffff2000000ull

static const char maps[] = "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
			   "7ffff0000000-7ffff1000000 rw-p 00000000 00:00 0 \n"
			   "7ffff2000000-7ffff2001000 rw-p 00000000 00:00 0 \n";

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 0x1000);
	fake_region(image, HEAP, 0x10000);
	fake_region(image, STACK, 0x1000);
	fake_region(image, ENDED, 0x1000);
	return image;
}

static void report(struct heap_image *image, uint64_t start, uint64_t size)
{
	assert_int_equal(
		walker_report(image, NULL, INVENTORY_IN_USE, start, start + size, UINT64_MAX), 0);
}

/* Not in the order of addresses, and some of them ours. */
static void merged(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	for (uint64_t i = 0; i < 64; i += 3)
		fake_block(image, HEAP + 64 * i, 40);
	fake_finish(image);
	assert_int_equal(heap_image_set_room(image, 2, HEAP + 64 * 6 + 56), 0);
	for (uint64_t i = 64; i-- > 0;)
		report(image, HEAP + 64 * (i * 7 % 64), 48);
	assert_int_equal(image->old.count, 64 - 22);
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(image->block_count, 64);
	for (uint64_t i = 0; i < 64; i++) {
		const struct heap_block block = heap_block_at(image, i);

		assert_int_equal(block.address, HEAP + 64 * i);
		assert_int_equal(block.size, i % 3 ? 48 : 40);
		assert_int_equal(block.stack, i % 3 ? HEAP_OLD : 0);
		assert_int_equal(heap_block_room_end(image, i), HEAP + 64 * i +
									(i == 6	 ? 56
									 : i % 3 ? 48
										 : 40));
	}
	heap_image_free(image);
}

/* Nobody is watched: all are old. More of them than there is memory for are not believed. */
static void none_of_ours(void **state)
{
	struct heap_image *image = new_image();
	struct inventory inventory = {0};
	struct inventory_allocator *allocator;
	uint64_t most;

	(void)state;
	fake_finish(image);
	most = (1 << 20) + image->memory->bytes / 8;
	image->inventory = &inventory;
	allocator = walker_allocator(image, "liar");
	for (uint64_t i = 0; i < most + 10; i++)
		assert_int_equal(walker_report(image, allocator, INVENTORY_IN_USE, HEAP + 16 * i,
					       HEAP + 16 * i + 16, 8),
				 0);
	assert_int_equal(image->old.count, most);
	assert_string_not_equal(allocator->shown.why, "");
	assert_int_equal(allocator->shown.in_use.count, most + 10);
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(image->block_count, most);
	assert_int_equal(heap_block_at(image, 7).size, 8);
	heap_image_free(image);
}

/* What an old block leads to is held as it is held itself, and it counts by itself. */
static void judged(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	struct heap_image *image = new_image();
	struct stack stacks[1] = {0};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = 1};
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP + 64, 40);  /* held by an old one that is held */
	fake_block(image, HEAP + 192, 40); /* by one that is lost */
	fake_finish(image);
	report(image, HEAP, 40);
	report(image, HEAP + 128, 40);
	report(image, HEAP + 256, 56);
	fake_word(image, DATA + 8, HEAP);
	fake_word(image, HEAP + 8, HEAP + 64);
	fake_word(image, HEAP + 128 + 8, HEAP + 192);
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	reach_sum(reach, &snapshot);
	assert_int_equal(stacks[0].verdict[VERDICT_REACHABLE].count, 1);
	assert_int_equal(stacks[0].verdict[VERDICT_INDIRECT].count, 1);
	assert_int_equal(snapshot.verdict.classes[VERDICT_REACHABLE].bytes, 40);
	assert_int_equal(snapshot.verdict.classes[VERDICT_DEFINITE].bytes, 0);
	assert_int_equal(snapshot.verdict.before[VERDICT_REACHABLE].bytes, 40);
	assert_int_equal(snapshot.verdict.before[VERDICT_DEFINITE].bytes, 96);
	assert_int_equal(snapshot.verdict.before[VERDICT_DEFINITE].count, 2);
	reach_free(reach);
	heap_image_free(image);
}

/*
 * A thread that is in malloc or free has the chunk, not the block; a pointer to a chunk that lies in memory is none.
 * The vector of a thread that has ended is the C library's.
 */
static void in_hand(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	static const char expected[] = "RRRDRD";
	static const char letters[] = "DIPR";
	struct heap_image *image = new_image();
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP + 320, 40); /* ours is known when malloc has returned */
	fake_thread(image, STACK + 0x100, STACK + 0x800, HEAP - 16);
	fake_finish(image);
	for (uint64_t i = 0; i < 5; i++)
		report(image, HEAP + 64 * i, 40);
	fake_word(image, STACK + 0x200, HEAP + 64 - 16);
	fake_word(image, STACK + 0x208, HEAP + 320 - 16);
	fake_word(image, HEAP + 64, HEAP + 128);
	fake_word(image, HEAP + 128, HEAP + 192 - 16);
	fake_word(image, ENDED + 8, HEAP + 256 + 16);
	assert_int_equal(heap_image_add_dead(image, ENDED, ENDED + 0x1000), 0);
	image->ended = calloc(1, sizeof(*image->ended));
	assert_non_null(image->ended);
	image->ended[image->ended_count++] = (struct heap_ended){.block = ENDED};
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	for (size_t i = 0; i < image->block_count; i++)
		assert_int_equal(letters[reach_class(reach, i)], expected[i]);
	reach_free(reach);
	heap_image_free(image);
}

/* What says so of a block says nothing of those beside it. */
static void held_by_a_hand(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	struct heap_image *image = new_image();
	struct reach *reach;

	(void)state;
	fake_finish(image);
	for (uint64_t i = 0; i < 9; i++)
		report(image, HEAP + 64 * i, 40);
	for (uint64_t i = 0; i < 9; i++) {
		if (i != 4)
			fake_word(image, DATA + 8 * i, HEAP + 64 * i);
	}
	assert_int_equal(heap_image_hold(image, HEAP + 64 * 4), 0);
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	for (uint64_t i = 0; i < 9; i++) {
		assert_int_equal(reach_class(reach, i), VERDICT_REACHABLE);
		assert_int_equal(reach_holder(reach, i), i == 4 ? REACH_IN_HAND : DATA + 8 * i);
	}
	reach_free(reach);
	heap_image_free(image);
}

/* Where the C library has a thread's own memory from its allocator, what is thread-local holds. */
static void thread_local_block(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	struct heap_image *image = new_image();
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP + 1024, 40);
	fake_thread(image, STACK + 0x100, HEAP + 256, 0);
	fake_finish(image);
	report(image, HEAP, 512);
	fake_word(image, HEAP + 128, HEAP + 1024);
	assert_int_equal(heap_image_take_old(image), 0);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	assert_int_equal(reach_class(reach, 0), VERDICT_REACHABLE);
	assert_int_equal(reach_class(reach, 1), VERDICT_REACHABLE);
	assert_int_equal(reach_holder(reach, 1), HEAP + 128);
	reach_free(reach);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged),	  cmocka_unit_test(none_of_ours),
		cmocka_unit_test(judged),	  cmocka_unit_test(in_hand),
		cmocka_unit_test(held_by_a_hand), cmocka_unit_test(thread_local_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
