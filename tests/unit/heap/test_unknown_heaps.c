// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Allocators that nobody here knows are said by name, with what is theirs for certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/heap/fake_image.h"
#include "tests/unit/heap/fake_jemalloc.h"
#include "user/base/util.h"

static const char maps[] = "10000000-10200000 rw-p 00000000 00:00 0 [anon:scudo:primary]\n"
			   "10200000-10300000 rw-p 00000000 00:00 0 [anon:mine]\n"
			   "10300000-10400000 rw-p 00000000 00:00 0 [anon:scudo:secondary]\n"
			   "20000000-20010000 r-xp 00000000 08:01 7 /usr/lib/libmimalloc.so.3.0\n"
			   "20010000-20020000 rw-p 00010000 08:01 7 /usr/lib/libmimalloc.so.3.0\n"
			   "30000000-30010000 r-xp 00000000 08:01 8 /usr/lib/notlibjemalloc.so\n"
			   "30020000-30030000 r--p 00000000 08:01 9 /home/me/libtcmalloc.so.notes\n"
			   "40000000-40010000 r-xp 00000000 08:01 10 /usr/lib/jvm/libjvm.so\n"
			   "50000000-50010000 r-xp 00000000 08:01 11 /usr/bin/d21-server\n"
			   "60000000-60010000 r-xp 00000000 08:01 12 /usr/bin/cc1-cache\n";

static const char compiler[] = "400000-500000 r-xp 00000000 08:01 13 /usr/lib/gcc/cc1plus\n";

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
	assert_int_equal(inventory.count, 3);
	assert_string_equal(a[0].shown.name, "Scudo");
	assert_string_equal(a[0].shown.why, "its books are not known");
	assert_int_equal(a[0].shown.unbelieved_bytes, 0x300000);
	assert_int_equal(a[0].resident[INVENTORY_UNBELIEVED], 0x5000);
	assert_int_equal(a[0].shown.unbelieved_resident, 0x5000);
	assert_string_equal(a[1].shown.name, "Java");
	assert_non_null(strstr(a[1].shown.why, "among the mappings"));
	assert_string_equal(a[2].shown.name, "mimalloc");
	assert_non_null(strstr(a[2].shown.why, "not found"));
	assert_int_equal(a[2].shown.unbelieved_bytes, 0);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

/* A program's name is the whole of it. */
static void named_as_a_program(void **state)
{
	struct heap_image *image = fake_image(compiler);
	struct inventory inventory = {0};

	(void)state;
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(inventory.allocators[0].shown.name, "GCC's collected heap");
	heap_image_free(image);
}

/* A kernel that does not keep the names of mappings: the library tells, and nobody knows which memory is its. */
static void without_names_of_mappings(void **state)
{
	struct heap_image *image = fake_image("20000000-20010000 r-xp 00000000 08:01 7 "
					      "/usr/lib/libclang_rt.scudo_standalone-x86_64.so\n"
					      "30000000-30100000 rw-p 00000000 00:00 0 \n");
	struct inventory inventory = {0};

	(void)state;
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(inventory.allocators[0].shown.name, "Scudo");
	assert_non_null(strstr(inventory.allocators[0].shown.why, "among the mappings"));
	assert_int_equal(inventory.allocators[0].shown.unbelieved_bytes, 0);
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

/* ---- told by their shape ------------------------------------------------------------------ */

/* Mappings of nobody's file. */
struct run {
	uint64_t start, end;
	const char *rights;
};

static struct heap_image *runs(const struct run *all, size_t count)
{
	char text[1024] = "";

	for (size_t i = 0, used = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%" PRIx64 "-%" PRIx64 " %s 00000000 00:00 0 \n",
					 all[i].start, all[i].end, all[i].rights);
	return fake_image(text);
}

#define RUNS(...) \
	runs((const struct run[]){__VA_ARGS__}, ARRAY_SIZE(((const struct run[]){__VA_ARGS__})))

/* What the inventory has of the only heap that there is, or must not have. */
static void shape_beside(struct heap_image *image, uint64_t *covered, const char *name,
			 uint64_t bytes, uint64_t resident)
{
	struct inventory inventory = {.covered = covered};
	const struct inspected_allocator *a = &inventory.allocators[0].shown;

	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, name != NULL);
	if (name) {
		assert_string_equal(a->name, name);
		assert_string_equal(a->why, "its books are not known");
		assert_int_equal(a->unbelieved_bytes, bytes);
		assert_int_equal(a->unbelieved_resident, resident);
	}
	heap_image_free(image);
}

static void shape(struct heap_image *image, const char *name, uint64_t bytes, uint64_t resident)
{
	shape_beside(image, NULL, name, bytes, resident);
}

static void go(void **state)
{
	struct heap_image *image =
		RUNS({0xc000000000, 0xc000400000, "rw-p"}, {0xc000400000, 0xc004000000, "---p"});

	(void)state;
	fake_region(image, 0xc000000000, 0x5000);
	/* A goroutine runs: its stack is the heap's. */
	fake_thread(image, 0xc000001000, 0x500000, 0);
	shape(image, "Go", 0x400000, 0x5000);
	/* At another place the stack tells, of what begins with memory and not with a guard. */
	image = RUNS({0x1298000000, 0x1298400000, "rw-p"}, {0x1298400000, 0x129c000000, "---p"});
	fake_thread(image, 0x1298001000, 0x500000, 0);
	shape(image, "Go", 0x400000, 0);
	image = RUNS({0x1298000000, 0x1298400000, "---p"}, {0x1298400000, 0x129c000000, "rw-p"});
	fake_thread(image, 0x1298401000, 0x500000, 0);
	shape(image, NULL, 0, 0);
	shape(RUNS({0x1298000000, 0x1298400000, "rw-p"}, {0x1298400000, 0x129c000000, "---p"}),
	      NULL, 0, 0);
	/* A heap of glibc's is as large, and is in its books. */
	image = RUNS({0x1298000000, 0x1298400000, "rw-p"}, {0x1298400000, 0x129c000000, "---p"});
	fake_region(image, 0x1298000000, 0x1000);
	fake_region(image, 0x1298002000, 0x1000);
	fake_thread(image, 0x1298002800, 0x500000, 0);
	shape_beside(image, (uint64_t[]){0, 0x1000}, NULL, 0, 0);
	/* Somebody else's at that place. */
	shape(RUNS({0xc000000000, 0xc000400000, "rw-p"}), NULL, 0, 0);
	shape(RUNS({0xc010000000, 0xc014000000, "rw-p"}), NULL, 0, 0);
}

/* A pool of 1 GiB with two super pages; the first one's metadata may be elsewhere. */
static void partition_alloc(void **state)
{
	struct heap_image *image = RUNS(
		{0x100000000000, 0x100000004000, "---p"}, {0x100000004000, 0x100000104000, "rw-p"},
		{0x100000104000, 0x100000202000, "---p"}, {0x100000202000, 0x100000203000, "rw-p"},
		{0x100000203000, 0x100000204000, "---p"}, {0x100000204000, 0x100000208000, "rw-p"},
		{0x100000208000, 0x100040000000, "---p"});

	(void)state;
	fake_region(image, 0x100000004000, 0x2000);
	fake_region(image, 0x100000202000, 0x1000);
	shape(image, "PartitionAlloc", 0x100000 + 0x1000 + 0x4000, 0x3000);
	/* Without guards around the page it may be anything. */
	shape(RUNS({0x100000000000, 0x100000202000, "---p"},
		   {0x100000202000, 0x100000203000, "rw-p"},
		   {0x100000203000, 0x100040000000, "rw-p"}),
	      NULL, 0, 0);
}

static struct heap_image *cage(void)
{
	struct heap_image *image = RUNS(
		{0x200000000000, 0x200000040000, "---p"}, {0x200000040000, 0x200000080000, "rw-p"},
		{0x200000080000, 0x200000100000, "---p"}, {0x200000100000, 0x200000140000, "rw-p"},
		{0x200000140000, 0x200000180000, "rw-p"}, {0x200000180000, 0x2000001c0000, "rw-p"},
		{0x2000001c0000, 0x200100000000, "---p"});

	fake_region(image, 0x200000040000, 0x1000);
	fake_region(image, 0x200000100000, 0x1000);
	fake_region(image, 0x200000140000, 0x1000);
	fake_region(image, 0x200000180000, 0x1000);
	return image;
}

static void v8_in_a_cage(void **state)
{
	struct heap_image *image = cage();

	(void)state;
	fake_word(image, 0x200000040008, 1);
	fake_word(image, 0x200000100008, 4);
	shape(image, "V8", 4 * 0x40000, 0x4000);
	image = cage();
	fake_word(image, 0x200000040008, 2);
	fake_word(image, 0x200000100008, 4);
	shape(image, NULL, 0, 0);
}

/* Each page begins with the handle of the heap, which lies outside; the first is a large one, with another behind. */
static void oilpan(void **state)
{
	static const uint64_t pages[] = {0x200000000000, 0x200000080000, 0x2000000c0000,
					 0x2000000e0000};
	/* what they begin with, and the last of them: outside, inside, unmapped, another one */
	static const uint64_t handles[][2] = {
		{0x100000000100, 0x100000000100},
		{0x200000040010, 0x200000040010},
		{0x300000000000, 0x300000000000},
		{0x100000000100, 0x100000000108},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct heap_image *image = RUNS({0x100000000000, 0x100000001000, "rw-p"},
						{0x200000000000, 0x2000000a0000, "rw-p"},
						{0x2000000a0000, 0x2000000c0000, "---p"},
						{0x2000000c0000, 0x2000000e0000, "rw-p"},
						{0x2000000e0000, 0x200000100000, "rw-p"},
						{0x200000100000, 0x200100000000, "---p"});

		for (size_t page = 0; page < 4; page++) {
			fake_region(image, pages[page], 0x1000);
			fake_word(image, pages[page], handles[i][page == 3]);
		}
		shape(image, i ? NULL : "Oilpan (Chromium)", 0x80000 + 3 * 0x20000, 0x4000);
	}
}

#define V8_FORMS 3
#define V8_APART 0x64a7bf40000

static uint64_t v8_apart(uint64_t at, unsigned form)
{
	return form == 2 ? V8_APART + (at >> 18 & 1) * 0x800 : at;
}

/* As V8 9 to 11 have it, 12.4, and from 12.9 on, where that lies at another place. */
static void v8_page(struct heap_image *image, uint64_t at, uint64_t size, unsigned form)
{
	static const uint64_t words[][6] = {
		{0, 16, 24, 32, 80, 88}, {16, 24, 32, 40, 88, 96}, {48, 64, 72, 56, 8, 16}};
	uint64_t to = v8_apart(at, form);

	fake_word(image, at + 8, form == 2 ? to : 4);
	fake_word(image, to + words[form][0], size);
	fake_word(image, to + words[form][1], 0x300eb360);
	fake_word(image, to + words[form][2], at + (form == 2 ? 16 : 0x1148));
	fake_word(image, to + words[form][3], at + size);
	fake_word(image, to + words[form][4], at);
	fake_word(image, to + words[form][5], size);
}

/* A page that begins at the address, and one of another size right behind. */
static void v8_pages(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * V8_FORMS; i++) {
		unsigned form = i % V8_FORMS, amiss = i / V8_FORMS;
		struct heap_image *image = RUNS({0x44a7bf40000, 0x44a7bfc2000, "rw-p"},
						{0x54a7bf40000, 0x54a7bf80000, "rw-p"},
						{V8_APART, V8_APART + 0x1000, "rw-p"});
		uint64_t first = 0x44a7bf40000, to = v8_apart(first, form);

		fake_region(image, 0x44a7bf40000, 0x82000);
		fake_region(image, 0x54a7bf40000, 0x1000);
		fake_region(image, V8_APART, 0x1000);
		v8_page(image, first, 0x40000, form);
		v8_page(image, first + 0x40000, 0x42000, form);
		if (amiss == 1) /* objects behind its end */
			fake_word(image, to + (const uint64_t[]){32, 40, 56}[form],
				  first + 0x40008);
		else if (amiss == 2) /* another page's */
			fake_word(image, to + (const uint64_t[]){80, 88, 8}[form], first + 0x40000);
		else if (amiss == 3) /* no heap, no size, what leads to no memory */
			fake_word(image, first + (form == 2 ? 8 : 16), form ? 0x1234567000 : 0);
		shape(image, amiss ? NULL : "V8", 0x82000, 0x82000);
	}
}

/* ------------------------------------------------------------------------------------------- */

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
		cmocka_unit_test(go),
		cmocka_unit_test(partition_alloc),
		cmocka_unit_test(v8_in_a_cage),
		cmocka_unit_test(oilpan),
		cmocka_unit_test(named_as_a_program),
		cmocka_unit_test(without_names_of_mappings),
		cmocka_unit_test(v8_pages),
		cmocka_unit_test(unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
