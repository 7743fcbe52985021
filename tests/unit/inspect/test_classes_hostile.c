// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Blocks of made-up processes: what a target can put there to mislead who looks, or to keep him busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "tests/unit/heap/fake_image.h"
#include "user/base/util.h"
#include "user/inspect/class_types.h"
#include "user/inspect/classes.h"

#define CODE  0x10000ull
#define DATA  0x10000000ull
#define HEAP  0x20000000ull
#define TYPES 0x40000000ull

static const char maps[] = "10000-20000 r-xp 00000000 08:01 7 /bin/shop\n"
			   "10000000-12000000 rw-p 00010000 08:01 7 /bin/shop\n"
			   "20000000-30000000 rw-p 00000000 00:00 0 [heap]\n"
			   "40000000-400040000000 r--p 00000000 08:01 8 /a/sparse/file\n";

/* Where the tables of the fake are, by their offsets into its data. */
enum {
	ABI = 0x100,	  /* table of __si_class_type_info */
	ABI_INFO = 0x200, /* its typeinfo, */
	ABI_NAME = 0x240, /* and name */
	TABLE = 0x300,
	INFO = 0x400,
	NAME = 0x500,
};

static struct heap_image *make(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 24 << 20);
	fake_region(image, HEAP, 32 << 20);
	return image;
}

static void text(struct heap_image *image, uint64_t address, const char *string)
{
	const struct memory_region *r = memory_image_region(image->memory, address);

	memcpy((char *)r->words + (address - r->start), string, strlen(string) + 1);
}

static void words(struct heap_image *image, uint64_t address, const uint64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fake_word(image, address + 8 * i, list[i]);
}
#define WORDS(image, address, ...)                             \
	words(image, address, (const uint64_t[]){__VA_ARGS__}, \
	      sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* A class as g++ makes one, and an object of it in the heap's first block. */
static void make_class(struct heap_image *image)
{
	WORDS(image, DATA + ABI - 16, 0, DATA + ABI_INFO, CODE + 8);
	WORDS(image, DATA + ABI_INFO, DATA + ABI, DATA + ABI_NAME);
	text(image, DATA + ABI_NAME, "N10__cxxabiv120__si_class_type_infoE");
	WORDS(image, DATA + TABLE - 16, 0, DATA + INFO, CODE + 16);
	WORDS(image, DATA + INFO, DATA + ABI, DATA + NAME);
	text(image, DATA + NAME, "N4shop7SessionE");
	fake_block(image, HEAP, 64);
	WORDS(image, HEAP, DATA + TABLE);
}

static struct block_classes *classify(struct heap_image *image)
{
	const struct class_files files = {.object = NULL};
	struct block_classes *classes;
	uint64_t count = 0;

	fake_finish(image);
	assert_int_equal(block_classes_find(image, &files, &classes), 0);
	for (size_t i = 0; i < classes->block_count; i++)
		assert_true(packed_get(&classes->group, i) < classes->group_count);
	for (size_t i = 0; i < classes->group_count; i++)
		count += classes->groups[i].live.count;
	assert_int_equal(count, image->block_count);
	return classes;
}

static void end(struct heap_image *image, struct block_classes *classes)
{
	block_classes_free(classes);
	heap_image_free(image);
}

/* What the heap's first block is said to be: "size", or its name. */
static void expect(struct heap_image *image, const char *name)
{
	struct block_classes *classes = classify(image);
	const struct inspected_group *group = &classes->groups[packed_get(&classes->group, 0)];

	assert_string_equal(group->name ?: group_kind_name(group->kind), name);
	end(image, classes);
}

static void a_class_in_memory(void **state)
{
	struct heap_image *image = make();

	(void)state;
	make_class(image);
	expect(image, "shop::Session");
}

static void typeinfo_in_a_circle(void **state)
{
	struct heap_image *image = make();

	(void)state;
	make_class(image);
	/* The class of the typeinfo is the class itself, */
	WORDS(image, DATA + INFO, DATA + TABLE);
	expect(image, "size");

	/* or one whose typeinfo leads back, and neither is the ABI's. */
	image = make();
	make_class(image);
	text(image, DATA + ABI_NAME, "N10__cxxabiv120__si_class_type_infoF");
	WORDS(image, DATA + ABI_INFO, DATA + TABLE);
	expect(image, "size");
}

static void second_tables(void **state)
{
	struct heap_image *image = make();

	(void)state;
	make_class(image);
	WORDS(image, DATA + TABLE - 16, (uint64_t)-16);
	expect(image, "size");
	image = make();
	make_class(image);
	WORDS(image, DATA + TABLE - 16, INT64_MIN);
	expect(image, "size");
}

static void names_that_are_none(void **state)
{
	static const char *const names[] = {"",
					    "*",
					    "N4shop7Session",
					    "N4shop\x1b[2JE",
					    "not mangled",
					    "N99999999999999999999E"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct heap_image *image = make();

		make_class(image);
		text(image, DATA + NAME, names[i]);
		expect(image, "size");
	}
}

static void name_without_end(void **state)
{
	struct heap_image *image = make();
	uint64_t at = DATA + (24 << 20) - 8;

	(void)state;
	/* It runs out of the memory, */
	make_class(image);
	WORDS(image, DATA + INFO + 8, at);
	fake_word(image, at, 0x4141414141414141);
	expect(image, "size");
	/* or goes on for longer than anybody reads. */
	image = make();
	make_class(image);
	WORDS(image, DATA + INFO + 8, DATA + 0x1000);
	for (at = DATA + 0x1000; at < DATA + 0x20000; at += 8)
		fake_word(image, at, 0x4141414141414141);
	expect(image, "size");
}

/* Each substitution doubles it: it stands for 2^60 characters. */
static void name_of_a_great_deal(void **state)
{
	char name[1024] = "1A", *p = name;
	struct heap_image *image = make();
	struct block_classes *classes;

	(void)state;
	p = stpcpy(p, "P1BI1AS_E");
	for (int i = 0; i < 60; i++)
		p = stpcpy(p, "I");
	make_class(image);
	text(image, DATA + NAME, name);
	classes = classify(image);
	end(image, classes);

	image = make();
	make_class(image);
	p = stpcpy(name, "1");
	p = stpcpy(p, "AI");
	for (int i = 0; i < 40; i++)
		p = stpcpy(p, "St4pairI");
	p = stpcpy(p, "ii");
	for (int i = 0; i < 40; i++)
		p = stpcpy(p, "ES_");
	stpcpy(p, "E");
	text(image, DATA + NAME, name);
	classes = classify(image);
	for (size_t i = 0; i < classes->group_count; i++) {
		if (classes->groups[i].name)
			assert_true(strlen(classes->groups[i].name) < 4096);
	}
	end(image, classes);
}

/* A pointer of a program without a fixed address: its bytes can be read as well. */
static void a_pointer_like_text(void **state)
{
	struct heap_image *image =
		fake_image("555555554000-565555554000 rw-p 00000000 00:00 0 [heap]\n");
	struct block_classes *classes;

	(void)state;
	fake_region(image, 0x555561614000, 1 << 16);
	fake_block(image, 0x555561614000, 64);
	fake_block(image, 0x555561615000, 64);
	fake_block(image, 0x555561616000, 64);
	fake_word(image, 0x555561614000, 0x555561616160);
	fake_word(image, 0x555561615000, 0x5f5561616160);
	fake_word(image, 0x555561616000, 0x4141555561616160);
	classes = classify(image);
	assert_int_equal(classes->groups[packed_get(&classes->group, 0)].kind, GROUP_SIZE);
	assert_int_equal(classes->groups[packed_get(&classes->group, 1)].kind, GROUP_TEXT);
	assert_int_equal(classes->groups[packed_get(&classes->group, 2)].kind, GROUP_TEXT);
	end(image, classes);
}

/* ---- CPython ---- */

#define READY	(1ull << 12)
#define GC	(1ull << 14)
#define OF_TYPE (1ull << 31)

static void make_type(struct heap_image *image, uint64_t at, uint64_t type, uint64_t name,
		      uint64_t flags)
{
	WORDS(image, at, 1, type, 0, name, 32, 0);
	fake_word(image, at + 21 * 8, READY | flags);
}

/* An object of a type: the heap's first block, the collector's head first. */
static void make_python(struct heap_image *image)
{
	text(image, DATA + 0x800, "type");
	text(image, DATA + 0x810, "thing");
	make_type(image, DATA + 0x1000, DATA + 0x1000, DATA + 0x800, GC | OF_TYPE);
	make_type(image, DATA + 0x1200, DATA + 0x1000, DATA + 0x810, GC);
	fake_block(image, HEAP, 64);
	WORDS(image, HEAP, 0, 0, 1, DATA + 0x1200);
}

static void a_python_object(void **state)
{
	struct heap_image *image = make();

	(void)state;
	make_python(image);
	expect(image, "thing");
}

static void types_that_are_none(void **state)
{
	struct heap_image *image = make();

	(void)state;
	/* Two that are each other's type, and none that is its own. */
	make_python(image);
	fake_word(image, DATA + 0x1008, DATA + 0x1200);
	expect(image, "size");
	/* One that is its own, and is called otherwise. */
	image = make();
	make_python(image);
	text(image, DATA + 0x800, "tape");
	expect(image, "size");
	/* Objects of no size, or of too much. */
	image = make();
	make_python(image);
	fake_word(image, DATA + 0x1200 + 32, 8);
	expect(image, "size");
	image = make();
	make_python(image);
	fake_word(image, DATA + 0x1200 + 32, 1ull << 63);
	expect(image, "size");
	/* Names with what ends a line, without end, and of none. */
	image = make();
	make_python(image);
	text(image, DATA + 0x810, "thi\ng");
	expect(image, "size");
	image = make();
	make_python(image);
	for (uint64_t at = DATA + 0x810; at < DATA + 0x1000; at += 8)
		fake_word(image, at, 0x4141414141414141);
	expect(image, "size");
	/* Nobody refers to it: it was an object. */
	image = make();
	make_python(image);
	fake_word(image, HEAP + 16, 0);
	expect(image, "size");
	/* The collector's head is missing, and the type wants one. */
	image = make();
	make_python(image);
	WORDS(image, HEAP, 1, DATA + 0x1200, 0, 0);
	expect(image, "size");
}

/* A class whose dictionary has no end, or leads to itself. */
static void dictionaries(void **state)
{
	static const uint64_t entries[] = {1, 4096, 4097, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct heap_image *image = make();

		make_python(image);
		fake_word(image, DATA + 0x1200 + 21 * 8, READY | GC | 1ull << 9);
		fake_word(image, DATA + 0x1200 + 33 * 8, HEAP + 0x1000);
		WORDS(image, HEAP + 0x1000, 1, DATA + 0x1200, 1, 1, HEAP + 0x1000 + 0x20);
		WORDS(image, HEAP + 0x1020, HEAP + 0x1020, 0x0a0a0303, 5, entries[i]);
		expect(image, "thing");
		image = make();
		make_python(image);
		fake_word(image, DATA + 0x1200 + 21 * 8, READY | GC | 1ull << 9);
		fake_word(image, DATA + 0x1200 + 33 * 8, HEAP + 0x1000);
		WORDS(image, HEAP + 0x1000, 1, DATA + 0x1200, 1, 1, HEAP + 0x1000);
		WORDS(image, HEAP + 0x1000, 1, 1ull << 30, 5, entries[i], HEAP + 0x1000);
		expect(image, "thing");
	}
}

/* ---- many ---- */

static void make_blocks(struct heap_image *image, size_t count)
{
	free(image->entered);
	image->entered = calloc(count, sizeof(*image->entered));
	assert_non_null(image->entered);
	for (size_t i = 0; i < count; i++)
		image->entered[image->block_count++] =
			(struct heap_block){.address = HEAP + 32 * i, .size = 32};
}

#define MANY (1u << 20)

/* Each block begins with another word that leads into a file; some chosen to have one hash. */
static void words_into_a_file(void **state)
{
	/* The inverse of what they are multiplied with, so that the upper half of the product stays 0. */
	const uint64_t inverse = 0xf1de83e19937733dull;
	struct heap_image *image = make();
	struct block_classes *classes;
	size_t chosen = 0;

	(void)state;
	assert_true(inverse * 0x9e3779b97f4a7c15ull == 1);
	make_blocks(image, MANY);
	for (size_t i = 0; i < MANY; i++)
		fake_word(image, HEAP + 32 * i, TYPES + 8 * 0x10001 * i);
	for (uint64_t k = 1; k < 1ull << 26 && chosen < MANY; k++) {
		uint64_t word = k * inverse;

		if (word >= TYPES && word < TYPES + (1ull << 46))
			fake_word(image, HEAP + 32 * chosen++, word);
	}
	assert_true(chosen > 100);
	classes = classify(image);
	assert_int_equal(classes->group_count, 1);
	end(image, classes);
}

/* More classes than any program has: those that are too many are counted all the same. */
static void too_many_classes(void **state)
{
	struct heap_image *image = make();
	struct block_classes *classes;
	const size_t count = 200000;
	size_t named = 0;

	(void)state;
	make_class(image);
	image->block_count = 0;
	make_blocks(image, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = DATA + 0x10000 + 64 * i;
		char name[32];

		snprintf(name, sizeof(name), "7C%06zu", i);
		WORDS(image, at, 0, at + 24, CODE, DATA + ABI, at + 40);
		text(image, at + 40, name);
		fake_word(image, HEAP + 32 * i, at + 16);
	}
	classes = classify(image);
	for (size_t i = 0; i < classes->group_count; i++)
		named += classes->groups[i].name != NULL;
	assert_in_range(named, 100000, 1u << 17);
	assert_in_range(classes->group_count, named + 1, named + 2);
	end(image, classes);
}

/* Blocks of a million sizes, and of one size that begin in a million ways. */
static void too_many_sizes(void **state)
{
	struct heap_image *image = make();
	struct block_classes *classes;

	(void)state;
	make_blocks(image, MANY);
	for (size_t i = 0; i < MANY; i++) {
		image->entered[i].size = 1 + i % 32;
		fake_word(image, HEAP + 32 * i, i * 0x9e3779b97f4a7c15ull << 8 | 0x80);
	}
	classes = classify(image);
	assert_int_equal(classes->group_count, 32);
	for (size_t i = 0; i < classes->group_count; i++) {
		assert_int_equal(classes->groups[i].live.count, MANY / 32);
		assert_in_range(classes->groups[i].size, 1, 32);
	}
	end(image, classes);

	image = make();
	make_blocks(image, MANY);
	for (size_t i = 0; i < MANY; i++)
		image->entered[i] =
			(struct heap_block){.address = 0x100000000 + (i << 24), .size = 16 + i};
	classes = classify(image);
	assert_in_range(classes->group_count, 100000, 1u << 17);
	end(image, classes);
}

/* ---- types of variables ---- */

#define SPARSE	    0x500000000000ull
#define SPARSE_SIZE (1ull << 46)

static const char sparse_maps[] = "10000000-10001000 rw-p 00010000 08:01 7 /bin/shop\n"
				  "20000000-20001000 rw-p 00000000 00:00 0 [heap]\n"
				  "500000000000-540000000000 rw-p 00000000 00:00 0 \n";

static uint32_t define(struct type_table *table, const char *name, uint64_t size, uint32_t flags,
		       const struct type_pointer *pointers, size_t count)
{
	const struct type_shape shape = {
		.size = size, .flags = flags, .pointers = pointers, .count = count};
	uint32_t type;

	assert_int_equal(type_table_name(table, name, &type), 0);
	assert_int_equal(type_table_define(table, type, &shape), 0);
	return type;
}

/* The only variable points to 64 TiB, next to none of which is there. What does its last row lead to? */
static void look_at_sparse(bool rows, bool repeated, const char *expected)
{
	struct heap_image *image = fake_image(sparse_maps);
	struct class_groups *groups = class_groups_new();
	struct type_table *table = type_table_new();
	unsigned char nothing[16];
	const struct packed known = {nothing, CLASS_KNOWN_BITS};
	struct class_types *types;
	uint32_t leaf, type, group;
	uint64_t moved = repeated ? 0x100 : 0;

	assert_non_null(groups);
	assert_non_null(table);
	leaf = define(table, "struct leaf", 48, 0, NULL, 0);
	if (rows)
		type = define(
			table, "struct row", 256, 0,
			(struct type_pointer[]){{.offset = 8, .count = 2, .stride = 8, .to = leaf}},
			1);
	else
		type = define(table, "short", 2, TYPE_SCALAR, NULL, 0);
	assert_int_equal(type_table_add_variable(table, &(struct type_pointer){.offset = DATA,
									       .count = 1,
									       .stride = 8,
									       .to = type}),
			 0);
	fake_region(image, DATA, 0x1000);
	fake_region(image, HEAP, 0x1000);
	fake_region(image, SPARSE, 0x1000);
	fake_region(image, SPARSE + SPARSE_SIZE / 2, 0x1000);
	fake_region(image, SPARSE + SPARSE_SIZE - 0x1000, 0x1000);
	fake_word(image, DATA + moved, SPARSE);
	fake_word(image, SPARSE + SPARSE_SIZE - 256 + 16, HEAP);
	fake_block(image, HEAP, 48);
	fake_block(image, SPARSE, SPARSE_SIZE);
	fake_finish(image);
	memset(nothing, 0xff, sizeof(nothing));
	types = class_types_new(image, groups, &known);
	assert_non_null(types);
	assert_int_equal(class_types_take(types, table, 0, "/bin/shop"), 0);
	assert_int_equal(class_types_root_count(types), 1);
	if (repeated)
		assert_int_equal(class_types_repeat(types, 0, 1, moved), 0);
	alarm(60);
	assert_int_equal(class_types_run(types), 0);
	alarm(0);
	assert_int_equal(class_types_group(types, 0, &group), 0);
	assert_int_equal(group == CLASS_NO_GROUP, !rows);
	if (rows)
		assert_string_equal(class_groups_at(groups, group)->name, "struct leaf");
	assert_int_equal(class_types_group(types, 1, &group), 0);
	assert_int_not_equal(group, CLASS_NO_GROUP);
	assert_string_equal(class_groups_at(groups, group)->name, expected);
	class_types_free(types);
	class_groups_free(groups);
	type_table_free(table);
	heap_image_free(image);
}

static void arrays_of_next_to_nothing(void **state)
{
	(void)state;
	look_at_sparse(false, false, "short[]");
	look_at_sparse(true, false, "struct row[]");
	look_at_sparse(true, true, "struct row[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_in_memory),   cmocka_unit_test(typeinfo_in_a_circle),
		cmocka_unit_test(second_tables),       cmocka_unit_test(names_that_are_none),
		cmocka_unit_test(name_without_end),    cmocka_unit_test(name_of_a_great_deal),
		cmocka_unit_test(a_pointer_like_text), cmocka_unit_test(a_python_object),
		cmocka_unit_test(types_that_are_none), cmocka_unit_test(dictionaries),
		cmocka_unit_test(words_into_a_file),   cmocka_unit_test(too_many_classes),
		cmocka_unit_test(too_many_sizes),      cmocka_unit_test(arrays_of_next_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
