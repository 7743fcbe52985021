// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory is dead, on stacks and glibc heaps made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/dead_memory.h"

#define HEAP  0x555555700000ull
#define SIZE  0x21000ull
#define LIBC  0x7ffff7dd0000ull
#define ARENA (LIBC + 0x100)
#define KEY   0xfeedfacecafef00dull

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

static uint64_t at; /* where the next chunk comes */

static uint64_t chunk(struct heap_image *image, uint64_t size, bool prev_in_use)
{
	uint64_t here = at;

	fake_word(image, here + 8, size | prev_in_use);
	at += size;
	return here + 16;
}

struct chunks {
	uint64_t known, unknown, free, cached, fast, top;
};

/*
 * tcache, a tracked block, one from before, a free chunk, one in the thread's cache, one in a
 * fastbin, the top.
 */
static struct heap_image *heap(struct chunks *c)
{
	struct heap_image *image = fake_image(maps);
	uint64_t tcache;

	fake_region(image, HEAP, SIZE);
	fake_region(image, LIBC, 0x2000);
	at = HEAP;
	tcache = chunk(image, 0x290, true);
	c->known = chunk(image, 0x70, true);
	c->unknown = chunk(image, 0x50, true);
	c->free = chunk(image, 0x500, true);
	c->cached = chunk(image, 0x30, false);
	c->fast = chunk(image, 0x20, true);
	c->top = chunk(image, HEAP + SIZE - at, true);
	fake_block(image, c->known, 0x40);
	fake_word(image, tcache + 128 + 8, c->cached); /* its second list: chunks of 0x30 */
	fake_word(image, c->cached + 8, KEY);
	fake_word(image, ARENA + 16, c->fast - 16);
	fake_word(image, c->fast, (c->fast >> 12) ^ 0); /* the list's end, hidden */
	fake_word(image, ARENA + 96, c->top - 16);
	fake_word(image, ARENA + 112, ARENA + 96); /* an empty unsorted bin */
	fake_word(image, ARENA + 120, ARENA + 96);
	return image;
}

static void free_chunks(void **state)
{
	struct heap_image *image;
	struct chunks c;

	(void)state;
	for (int known = 0; known < 2; known++) {
		image = heap(&c);
		image->all_known = known;
		fake_find_dead(image);
		assert_false(fake_dead(image, c.known + 0x38));
		assert_true(fake_dead(image, c.known + 0x48)); /* behind what was asked for */
		assert_int_equal(fake_dead(image, c.unknown + 0x10), known);
		assert_true(fake_dead(image, c.free));
		assert_true(fake_dead(image, c.free + 0x4e8));
		assert_true(fake_dead(image, c.cached + 0x10));
		assert_true(fake_dead(image, c.fast + 8));
		assert_true(fake_dead(image, c.top + 0x1000));
		heap_image_free(image);
	}
}

/*
 * Where anything is not as it should be nothing is dead that the row of chunks does not lead over.
 */
static void broken_heaps(void **state)
{
	struct heap_image *image;
	struct chunks c;

	(void)state;
	for (int i = 0; i < 8; i++) {
		image = heap(&c);
		switch (i) {
		case 0: /* a size that leads nowhere */
			fake_word(image, c.free - 8, 0x510 | 1);
			break;
		case 1: /* a circle, or no way on */
			fake_word(image, c.free - 8, 1);
			break;
		case 2: /* a chunk of mmap's */
			fake_word(image, c.free - 8, 0x500 | 3);
			break;
		case 3: /* another arena's */
			fake_word(image, c.free - 8, 0x500 | 5);
			break;
		case 4: /* beyond the end */
			fake_word(image, c.top - 8, 0x40000 | 1);
			break;
		case 5: /* a size near the end of what there is */
			fake_word(image, c.top - 8, UINT64_MAX - 7);
			break;
		case 6: /* the arena names another top */
			fake_word(image, ARENA + 96, c.free - 16);
			break;
		default: /* bins that are none */
			fake_word(image, ARENA + 112, 5);
			break;
		}
		fake_find_dead(image);
		assert_false(fake_dead(image, c.known));
		assert_false(fake_dead(image, c.unknown + 0x10));
		assert_false(fake_dead(image, c.free));
		if (i >= 4)
			assert_int_equal(image->dead_count, 0);
		heap_image_free(image);
	}
}

/* A fastbin that is a circle ends all the same, and one that leads out of the heap. */
static void broken_fastbins(void **state)
{
	struct heap_image *image;
	struct chunks c;

	(void)state;
	image = heap(&c);
	fake_word(image, c.fast, (c.fast >> 12) ^ (c.fast - 16));
	fake_find_dead(image);
	assert_true(fake_dead(image, c.fast + 8));
	heap_image_free(image);
	image = heap(&c);
	fake_word(image, c.fast, 0x4141414141414140ull);
	fake_find_dead(image);
	assert_false(fake_dead(image, c.unknown));
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks),	   cmocka_unit_test(unknown_stack),
		cmocka_unit_test(free_chunks),	   cmocka_unit_test(broken_heaps),
		cmocka_unit_test(broken_fastbins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
