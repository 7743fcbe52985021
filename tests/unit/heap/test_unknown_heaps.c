// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Allocators that nobody here knows are said by name, with what is theirs for certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "tests/unit/heap/fake_jemalloc.h"

static const char maps[] =
	"10000000-10200000 rw-p 00000000 00:00 0 [anon:scudo:primary]\n"
	"10200000-10300000 rw-p 00000000 00:00 0 [anon:mine]\n"
	"10300000-10400000 rw-p 00000000 00:00 0 [anon:scudo:secondary]\n"
	"20000000-20010000 r-xp 00000000 08:01 7 /usr/lib/libmimalloc.so.3.0\n"
	"20010000-20020000 rw-p 00010000 08:01 7 /usr/lib/libmimalloc.so.3.0\n"
	"30000000-30010000 r-xp 00000000 08:01 8 /usr/lib/notlibjemalloc.so\n"
	"30020000-30030000 r--p 00000000 08:01 9 /home/me/libtcmalloc.so.notes\n";

static void named(void **state)
{
	struct heap_image *image = fake_image(maps);
	struct inventory inventory = {0};
	const struct inventory_allocator *a = inventory.allocators;

	(void)state;
	image->inventory = &inventory;
	fake_region(image, 0x10000000, 0x3000);
	fake_region(image, 0x10200000, 0x1000);
	fake_region(image, 0x10300000, 0x2000);
	fake_find_dead(image);
	assert_int_equal(inventory.count, 2);
	assert_string_equal(a[0].shown.name, "Scudo");
	assert_string_equal(a[0].shown.why, "its books are not known");
	assert_int_equal(a[0].shown.unbelieved_bytes, 0x300000);
	assert_int_equal(a[0].resident[INVENTORY_UNBELIEVED], 0x5000);
	assert_string_equal(a[1].shown.name, "mimalloc");
	assert_non_null(strstr(a[1].shown.why, "not found"));
	assert_int_equal(a[1].shown.unbelieved_bytes, 0);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

/* One that has been walked is known. */
static void walked(void **state)
{
	struct jemalloc_parts parts;

	(void)state;
	for (int broken = 0; broken < 2; broken++) {
		struct heap_image *image = fake_jemalloc(&parts);
		struct inventory inventory = {0};

		image->inventory = &inventory;
		if (broken)
			fake_word(image, JE_ROOT + 8 * (JE_SLAB >> 30), JE_LEAF + 64);
		fake_find_dead(image);
		assert_int_equal(inventory.count, 1);
		assert_string_equal(inventory.allocators[0].shown.name, "jemalloc");
		assert_string_equal(inventory.allocators[0].shown.version, broken ? "" : "5.3");
		assert_int_equal(*inventory.allocators[0].shown.why != '\0', broken);
		heap_image_free(image);
	}
}

/* Nobody asks: nothing is said. */
static void unasked(void **state)
{
	struct heap_image *image = fake_image(maps);

	(void)state;
	fake_find_dead(image);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named),
		cmocka_unit_test(walked),
		cmocka_unit_test(unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
