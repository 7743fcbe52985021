// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What marking gives, summed up by stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/model/snapshot.h"
#include "user/heap/reach.h"

#define DATA 0x555555600000ull /* writable data of the program: roots */
#define HEAP 0x555555700000ull
#define FAR  0x7ffff0000000ull

static const char maps[] = "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
			   "7ffff0000000-7ffff1000000 rw-p 00000000 00:00 0 \n";

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 0x1000);
	fake_region(image, HEAP, 0x10000);
	fake_region(image, FAR, 0x10000);
	return image;
}

static void sums(void **state)
{
	const struct reach_options options = {0};
	struct heap_image *image = new_image();
	struct stack stacks[2] = {0};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = 2};
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP, 100);
	fake_block(image, HEAP + 128, 50);
	fake_block(image, HEAP + 256, 7);
	fake_block(image, HEAP + 512, 9);
	image->entered[1].stack = 1;
	image->entered[3].stack = HEAP_NO_STACK;
	fake_word(image, DATA, HEAP);
	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	reach_sum(reach, &snapshot);
	assert_int_equal(stacks[0].verdict[VERDICT_REACHABLE].bytes, 100);
	assert_int_equal(stacks[0].verdict[VERDICT_DEFINITE].bytes, 7);
	assert_int_equal(stacks[1].verdict[VERDICT_DEFINITE].count, 1);
	assert_int_equal(snapshot.verdict.classes[VERDICT_DEFINITE].bytes, 66);
	assert_int_equal(reach_holder(reach, 0), DATA);
	assert_int_equal(reach_holder(reach, 1), 0);
	reach_free(reach);
	heap_image_free(image);
}

/* What hangs on a lost block counts with that one's stack, and with its own as counted so. */
static void kept(void **state)
{
	const struct reach_options options = {0};
	struct heap_image *image = new_image();
	struct stack stacks[2] = {0};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = 2};
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP, 24);	   /* lost, of stack 0 */
	fake_block(image, HEAP + 128, 50); /* below it, of stack 1 */
	fake_block(image, HEAP + 256, 40); /* and that one, of stack 0 */
	fake_block(image, HEAP + 512, 16); /* lost, from before the attach */
	fake_block(image, HEAP + 640, 32); /* below it, of stack 1 */
	image->entered[1].stack = image->entered[4].stack = 1;
	image->entered[3].stack = HEAP_OLD;
	fake_word(image, HEAP, HEAP + 128);
	fake_word(image, HEAP + 128, HEAP + 256);
	fake_word(image, HEAP + 512, HEAP + 640);
	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	reach_sum(reach, &snapshot);
	assert_int_equal(stacks[0].verdict[VERDICT_DEFINITE].bytes, 24);
	assert_int_equal(stacks[0].kept.bytes, 90);
	assert_int_equal(stacks[0].kept.count, 2);
	assert_int_equal(stacks[0].hangs.bytes, 40);
	assert_int_equal(stacks[1].kept.count, 0);
	assert_int_equal(stacks[1].verdict[VERDICT_INDIRECT].bytes, 82);
	assert_int_equal(stacks[1].hangs.bytes, 50);
	assert_int_equal(stack_lost_bytes(&stacks[0]), 114);
	assert_int_equal(stack_lost_bytes(&stacks[1]), 32);
	stacks[1].live = (struct amount){82, 2};
	assert_false(stack_only_hangs(&stacks[1]));
	stacks[1].live = stacks[1].verdict[VERDICT_INDIRECT] = stacks[1].hangs;
	assert_true(stack_only_hangs(&stacks[1]));
	reach_free(reach);
	heap_image_free(image);
}

/* Blocks that have a weight of their own count by it, the others by the rate of sampling. */
static void weights(void **state)
{
	const struct reach_options options = {0};
	struct heap_image *image = new_image();
	struct stack stacks[2] = {0};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = 2};
	struct reach *reach;

	(void)state;
	fake_block(image, HEAP, 100);
	fake_block(image, HEAP + 128, 50);
	fake_block(image, HEAP + 256, 8);
	image->entered[1].stack = 1;
	image->sample_bytes = 1;
	image->weights = calloc(2, sizeof(*image->weights));
	assert_non_null(image->weights);
	/* As they come: not by address. */
	image->weights[0] = (struct heap_weight){HEAP + 256, 64};
	image->weights[1] = (struct heap_weight){HEAP, 2.5};
	image->weight_count = 2;
	fake_word(image, DATA, HEAP);
	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	reach_sum(reach, &snapshot);
	assert_int_equal(stacks[0].verdict[VERDICT_REACHABLE].bytes, 250);
	assert_int_equal(stacks[0].verdict[VERDICT_REACHABLE].count, 3);
	assert_int_equal(stacks[0].verdict[VERDICT_DEFINITE].bytes, 512);
	assert_int_equal(stacks[0].verdict[VERDICT_DEFINITE].count, 64);
	assert_int_equal(stacks[1].verdict[VERDICT_DEFINITE].bytes, 50);
	reach_free(reach);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(kept),
		cmocka_unit_test(weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
