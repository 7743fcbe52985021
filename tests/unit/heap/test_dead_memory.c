// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory is dead, on stacks made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/dead_memory.h"

#define LIVE  0x7ffff5001000ull /* a thread's stack */
#define ENDED 0x7ffff6001000ull /* an ended one's */

static const char maps[] = "555555700000-555555721000 rw-p 00000000 00:00 0 [heap]\n"
			   "7ffff5000000-7ffff5001000 ---p 00000000 00:00 0 \n"
			   "7ffff5001000-7ffff5801000 rw-p 00000000 00:00 0 \n"
			   "7ffff6000000-7ffff6001000 ---p 00000000 00:00 0 \n"
			   "7ffff6001000-7ffff6801000 rw-p 00000000 00:00 0 \n"
			   "7ffff7dd0000-7ffff7dd2000 rw-p 001d0000 08:01 9 /lib/libc.so.6\n"
			   "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";

static void stacks(void **state)
{
	struct heap_image *image = fake_image(maps);

	(void)state;
	fake_region(image, LIVE + 0x7f0000, 0x10000);
	fake_region(image, ENDED + 0x7f0000, 0x10000);
	fake_region(image, 0x7ffffffde000, 0x21000);
	/* The control blocks: of a living thread and of one that is no more. */
	fake_word(image, LIVE + 0x7ff6c0, LIVE + 0x7ff6c0);
	fake_word(image, LIVE + 0x7ff6d0, LIVE + 0x7ff6c0);
	fake_word(image, ENDED + 0x7ff6c0, ENDED + 0x7ff6c0);
	fake_word(image, ENDED + 0x7ff6d0, ENDED + 0x7ff6c0);
	fake_thread(image, LIVE + 0x7fe000, LIVE + 0x7ff6c0, 0);
	fake_thread(image, 0x7fffffffe000, 0x7ffff7fc0740, 0);
	fake_find_dead(image);
	assert_true(fake_dead(image, LIVE + 0x7fe000 - 136));
	assert_false(fake_dead(image, LIVE + 0x7fe000 - 128));
	assert_false(fake_dead(image, LIVE + 0x7ff6c0));
	assert_true(fake_dead(image, ENDED + 0x7ff000));
	assert_true(fake_dead(image, 0x7fffffffd000));
	assert_false(fake_dead(image, 0x7fffffffe000 - 128));
	heap_image_free(image);
}

/*
 * Memory that looks like a stack, of which nobody knows that its thread has ended: a coroutine's.
 */
static void unknown_stack(void **state)
{
	struct heap_image *image = fake_image(maps);

	(void)state;
	fake_region(image, ENDED + 0x7f0000, 0x10000);
	/* Runs on a stack in it that has no control block above. */
	fake_region(image, LIVE + 0x7f0000, 0x10000);
	fake_thread(image, LIVE + 0x7f8000, 0x7ffff7fc0740, 0);
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks),
		cmocka_unit_test(unknown_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
