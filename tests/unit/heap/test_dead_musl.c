// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory of musl's allocator is in use and which dead, on groups made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_musl.h"
#include "user/heap/dead_memory.h"

static const char maps_far[] =
	"555555603000-555555605000 rw-p 00000000 00:00 0 [heap]\n"
	"7ffff7e00000-7ffff7ff1000 rw-p 00000000 00:00 0 \n"
	"7ffff7ffb000-7ffff7ffc000 rw-p 000a0000 08:01 9 /lib/ld-musl-x86_64.so.1\n";

static void whole(void **state)
{
	struct parts p;

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct heap_image *image = heap(&p);

		image->all_known = known;
		fake_find_dead(image);
		assert_true(fake_dead(image, slot(0) + 8));  /* before the block, in its slot */
		assert_true(fake_dead(image, slot(0) + 24)); /* behind it */
		assert_true(fake_dead(image, slot(1)));
		assert_false(fake_dead(image, slot(2)));
		assert_false(fake_dead(image, slot(2) + 40));
		assert_false(fake_dead(image, slot(3) + 16));
		assert_true(fake_dead(image, slot(3) + 40)); /* behind the group in it */
		assert_true(fake_dead(image, slot(4) + 40));
		assert_true(fake_dead(image, slot(5))); /* nobody's, of the group's page */
		assert_true(fake_dead(image, SINGLE + 24));
		assert_true(fake_dead(image, SINGLE + 0x1ff8));
		assert_false(fake_dead(image, SINGLE + 0x2000));
		assert_false(fake_dead(image, OTHER));
		heap_image_free(image);
	}
}

/* The same heap, of which no block is known, and what is asked for is an inventory. */
static struct heap_image *unwatched(struct inventory *inventory)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	*inventory = (struct inventory){0};
	image->block_count = 0;
	image->inventory = inventory;
	return image;
}

/* Without any block that is known: each of them, as large as it was asked for. */
static void all_blocks(void **state)
{
	struct inventory inventory;
	const struct inspected_allocator *shown = &inventory.allocators[0].shown;
	struct heap_image *image = unwatched(&inventory);

	(void)state;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(shown->name, "musl");
	assert_string_equal(shown->why, "");
	assert_int_equal(shown->in_use.count, 4);
	assert_int_equal(shown->in_use.bytes, 8 + 41 + 8 + 0x1800);
	assert_int_equal(shown->slack_bytes,
			 (44 - 16 - 8) + (44 - 41) + (12 - 8) + (0x1fec - 48 - 0x1800));
	assert_int_equal(shown->free_bytes, 2 * 48);
	/* All of the groups and of the areas. */
	assert_int_equal(shown->in_use.bytes + shown->slack_bytes + shown->free_bytes +
				 shown->books_bytes,
			 0x1000 + 0x2000 + 0x2000);
	assert_int_equal(image->old.count, 4);
	heap_image_free(image);
}

/* What stands before a block disagrees with its place: only its slot is not believed. */
static void broken_headers(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct inventory inventory;
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct heap_image *image = unwatched(&inventory);

		switch (i) {
		case 0: /* another slot's index */
			add_bits(image, slot(2) - 8, 1ull << 40);
			break;
		case 1: /* elsewhere in the group */
			add_bits(image, slot(2) - 8, 1ull << 56);
			break;
		case 2: /* not where it says that it has moved to */
			fake_word(image, slot(2) - 8, 2ull << 48 | 0xe0ull << 40);
			break;
		case 3: /* more bytes left than there are */
			add_bits(image, slot(2) - 8, 5ull << 45);
			add_bits(image, slot(2) + 40, 1000);
			break;
		case 4: /* as if freed, but for where it is */
			add_bits(image, slot(2) - 8, 0xffull << 40);
			break;
		default: /* a group that is none */
			add_bits(image, slot(2) - 8, 6ull << 45);
			fake_word(image, slot(2), META + 40);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(shown->in_use.count, 3);
		assert_int_equal(shown->unbelieved_bytes, 48);
		assert_string_not_equal(shown->why, "");
		assert_false(fake_dead(image, slot(2) + 8));
		heap_image_free(image);
	}
}

/*
 * A slot that its group has as in use is on its way from one to another: nobody's any more (at its beginning, or further
 * on), or not yet.
 */
static void on_its_way(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct inventory inventory;
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct heap_image *image = unwatched(&inventory);

		fake_word(image, slot(2) - 8, i == 0 ? 0xffull << 40 : 0);
		if (i == 1) {
			fake_word(image, slot(2) - 8, 1ull << 48 | 0xe0ull << 40);
			fake_word(image, slot(2) + 8, 0xffull << 40);
		}
		fake_find_dead(image);
		assert_int_equal(shown->in_use.count, 3);
		assert_int_equal(shown->cached_bytes, 3 * 48);
		assert_int_equal(shown->unbelieved_bytes, 0);
		assert_string_equal(shown->why, "");
		assert_true(fake_dead(image, slot(2) + 24));
		heap_image_free(image);
	}
}

/* A group's first slot looks the same when it has never been given out: nothing need lead to it while that may be. */
static void first_slot(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct inventory inventory;
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct heap_image *image = unwatched(&inventory);

		fake_word(image, slot(0) - 8, 0);
		fake_thread(image, 0x7ffffffff000, 0x7ffff7ffe000, i ? META + 8 : 0);
		fake_find_dead(image);
		assert_int_equal(shown->in_use.count, 4);
		assert_int_equal(shown->unbelieved_bytes, 0);
		assert_int_equal(image->in_hand_count, i);
		if (i)
			assert_int_equal(image->in_hand[0], slot(0));
		assert_int_equal(!*shown->why, !i);
		heap_image_free(image);
	}
}

/* Aligned to more than the 16 bits before a slot can say. */
static void far_moved(void **state)
{
	const uint64_t start = SINGLE + 16, units = 0x1230a, stride = 0x180000 - 16;
	struct heap_image *image = fake_image(maps_far);
	struct inventory inventory = {0};

	(void)state;
	fake_region(image, AREA, 0x1000);
	fake_region(image, SINGLE, 0x180000);
	fake_region(image, DATA, 0x1000);
	memory_image_finish(image->memory);
	fake_word(image, AREA, SECRET);
	fake_word(image, AREA + 16, 101);
	fake_word(image, CTX, SECRET);
	fake_word(image, CTX + 8, 1);
	fake_word(image, CTX + 56, AREA);
	fake_word(image, CTX + 64, AREA);
	meta(image, META, SINGLE, 0, 0 | 1 << 5 | 63 << 6 | 0x180 << 12);
	block(image, SINGLE, start, stride, units, 100);
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(image->old.count, 1);
	assert_int_equal(block_list_at(&image->old, 0).address, start + 16 * units);
	assert_int_equal(inventory.allocators[0].shown.in_use.bytes, 100);
	heap_image_free(image);
}

/* Two groups that lie in each other: the first one is believed, and no byte counts twice. */
static void overlapping(void **state)
{
	struct inventory inventory;
	struct heap_image *image = unwatched(&inventory);

	(void)state;
	meta(image, META + 80, GROUP + 0x800, 0, 0 | 1 << 5 | 63 << 6 | 1 << 12);
	fake_find_dead(image);
	assert_string_not_equal(inventory.allocators[0].shown.why, "");
	assert_int_equal(image->old.count, 4);
	heap_image_free(image);
}

/* A block with others inside, which a pool of the program's own hands out. */
static void pool(void **state)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	(void)state;
	fake_block(image, p.single + 0x100, 64);
	fake_find_dead(image);
	assert_false(fake_dead(image, p.single + 0x200));
	heap_image_free(image);
}

/*
 * The group alone is not believed where it and its meta disagree; nothing is where the context does
 * not show the metas.
 */
static void broken(void **state)
{
	struct parts p;

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct heap_image *image = heap(&p);

		switch (i) {
		case 0: /* the group names another meta */
			fake_word(image, GROUP, META + 80);
			break;
		case 1: /* a slot that is free twice */
			fake_word(image, META + 24, 0x200000002ull);
			break;
		case 2: /* one behind the last */
			fake_word(image, META + 24, 1 << 5);
			break;
		case 3: /* sizes that there are none of */
			fake_word(image, META + 32, 4 | 50 << 6 | 1 << 12);
			break;
		case 4: /* larger than its pages */
			fake_word(image, META + 32, 4 | 20 << 6 | 1 << 12);
			break;
		case 5: /* no group there */
			fake_word(image, META + 16, 0x7fffe0000000);
			break;
		case 6: /* areas of somebody else */
			fake_word(image, CTX, SECRET + 1);
			break;
		case 7:
			fake_word(image, AREA + 0x1000, SECRET + 1);
			break;
		default: /* more after the last */
			fake_word(image, AREA + 0x1008, AREA);
			break;
		}
		fake_find_dead(image);
		assert_false(fake_dead(image, slot(1)));
		assert_int_equal(fake_dead(image, SINGLE + 24), i < 6);
		heap_image_free(image);
	}
}

/* A circle of areas ends: the context names another last one. */
static void circle(void **state)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	(void)state;
	fake_word(image, AREA + 8, AREA);
	fake_find_dead(image);
	assert_true(fake_dead(image, slot(1)));
	assert_false(fake_dead(image, SINGLE + 24));
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	  cmocka_unit_test(all_blocks),
		cmocka_unit_test(on_its_way),	  cmocka_unit_test(first_slot),
		cmocka_unit_test(broken_headers), cmocka_unit_test(far_moved),
		cmocka_unit_test(overlapping),	  cmocka_unit_test(pool),
		cmocka_unit_test(broken),	  cmocka_unit_test(circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
