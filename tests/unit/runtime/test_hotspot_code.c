// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process whose memory holds anything: reading it ends, and what comes out is bounded. (True ones: tests/integration/java.bats.) */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/java/hotspot_code.h"

struct anything {
	uint64_t seed;
	uint64_t reads, small; /* how often, and numbers are small in one of so many rounds */
};

static uint64_t next(struct anything *a)
{
	a->seed ^= a->seed << 13;
	a->seed ^= a->seed >> 7;
	a->seed ^= a->seed << 17;
	return a->seed;
}

static size_t read_anything(void *ctx, uint64_t address, void *to, size_t size)
{
	struct anything *a = ctx;
	uint8_t *bytes = to;
	uint64_t kind = next(a) % 8;

	(void)address;
	a->reads++;
	if (!kind)
		return size / 2;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(kind < 5 ? next(a) & 7 & -(uint64_t)(i < 2) : next(a));
	/* Now and then it is compiled code, for more than a look at its name. */
	if (size == 64 && kind > 3)
		memcpy(to, "nmethod", sizeof("nmethod"));
	return size;
}

static void check_place(void *ctx, const struct hotspot_place *place)
{
	size_t *count = ctx;

	assert_true(++*count <= HOTSPOT_INLINED_MAX);
	assert_true(*place->function && strlen(place->function) < 4096);
	assert_true(!place->file || strlen(place->file) < 4096);
	assert_true(place->line <= UINT16_MAX);
}

static struct hotspot_layout layout_of(struct anything *a, uint32_t version)
{
	struct hotspot_layout layout;
	uint64_t *members = &layout.heaps;
	size_t count = (sizeof(layout) - offsetof(struct hotspot_layout, heaps)) / sizeof(*members);

	for (size_t i = 0; i < count; i++)
		members[i] = next(a) % 512;
	layout.version = version;
	layout.const_size = 48;
	layout.pc_size = 16;
	if (version >= 23)
		layout.scopes_begin = HOTSPOT_NOWHERE;
	return layout;
}

static void any_memory(void **state)
{
	struct anything a = {.seed = 88172645463325252ull};
	const struct hotspot_memory memory = {read_anything, &a};
	size_t named = 0;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		struct hotspot_layout layout = layout_of(&a, i % 3 ? i % 2 ? 17 : 25 : 8);
		struct runtime_call call = {.code = next(&a) & ~7ull,
					    .cookie = next(&a) & 7,
					    .place = (uint32_t)next(&a)};
		size_t count = 0;
		int err;

		a.reads = 0;
		err = hotspot_code_places(&layout, &memory, &call, check_place, &count);
		assert_true(err == 0 || err == -ESTALE || err == -EFAULT);
		assert_true(!err || !count);
		assert_true(a.reads < 10000);
		named += count;
	}
	/* It has not always ended at the first look. */
	assert_true(named > 0);
}

#define BLOB 0x100000ull

/* A scope at 8 whose caller is at 9, and the other way round. */
static size_t read_circle(void *ctx, uint64_t address, void *to, size_t size)
{
	const struct hotspot_layout *layout = ctx;
	uint64_t word = address == BLOB + layout->blob_code_begin ? BLOB : 0x1000;
	uint32_t number = address == BLOB + layout->pcs_end_offset ? 7 + 16 : 7;

	memset(to, 'a', size);
	if (size == 8)
		memcpy(to, &word, size);
	else if (size == 4)
		memcpy(to, &number, size);
	else if (size == 2)
		memcpy(to, "\3", 2);
	else if (size == 64)
		memcpy(to, "nmethod", sizeof("nmethod"));
	else if (size == 32)
		memcpy(to, address & 1 ? "\10\1\1" : "\11\1\1", 4);
	return size;
}

/* Of what it was compiled for the name is right. */
static void circle_of_scopes(void **state)
{
	struct anything a = {.seed = 1};
	struct hotspot_layout layout = layout_of(&a, 17);
	const struct hotspot_memory memory = {read_circle, &layout};
	const struct runtime_call call = {.code = BLOB, .cookie = 7, .place = HOTSPOT_COMPILED | 7};
	size_t count = 0;

	(void)state;
	layout.pcs_end_offset = 600;
	layout.pcs_offset = 604;
	layout.blob_code_begin = 608;
	assert_int_equal(hotspot_code_places(&layout, &memory, &call, check_place, &count), 0);
	assert_int_equal(count, 1);
}

/* ---- where versions have what they know of a piece of code ---------------------------------- */

#define PLACE 0x200000ull

static uint8_t place[0x2000];

static size_t read_place(void *ctx, uint64_t address, void *to, size_t size)
{
	(void)ctx;
	if (address < PLACE || address - PLACE > sizeof(place) - size)
		return 0;
	memcpy(to, place + (address - PLACE), size);
	return size;
}

static void put(uint64_t at, uint64_t value, size_t size)
{
	memcpy(place + at, &value, size);
}

static void put_symbol(uint64_t at, const char *text)
{
	put(at, strlen(text), 2);
	memcpy(place + at + 6, text, strlen(text));
}

struct version_tables {
	const char *name;
	uint32_t version;
	bool begin_pointer, scopes_pointer, has_immutable, has_mutable;
};

/*
 * One method, Shop.keep, at 0x100 with its parts behind; code at 0x800, of which 0x10 in is at its bytecode 3, line 9. The tables are where
 * vmStructs.cpp and nmethod.hpp of the version say: behind the header (8 and 17), or at 0x1000 and 0x1800, metadata in the
 * header's data (23, as is supposed), or behind 8 bytes of relocations (25).
 */
static struct hotspot_layout put_version(const struct version_tables *v)
{
	uint64_t blob = 0x400, tables = v->has_immutable ? 0x1000 : blob,
		 metadata = v->has_mutable ? 0x1808 : blob + 0x300;
	struct hotspot_layout l;

	memset(&l, 0xff, sizeof(l));
	memset(place, 0, sizeof(place));
	l.version = v->version;
	/* The names of a method. */
	l.method_const = 8, l.const_pool = 8, l.const_whole = 16, l.const_code_size = 20;
	l.const_name = 22, l.const_signature = 24, l.const_flags = 26, l.const_size = 32;
	l.pool_holder = 0, l.pool_source = 8, l.pool_size = 16, l.class_name = 16;
	l.symbol_length = 0, l.symbol_body = 6;
	put(0x108, PLACE + 0x120, 8);
	put(0x128, PLACE + 0x180, 8);
	put(0x130, 8, 4), put(0x134, 8, 2), put(0x136, 1, 2), put(0x13a, 1, 2);
	/* 3 further, and line 9: behind its bytecode. */
	place[0x120 + 32 + 8] = 0xff;
	place[0x120 + 32 + 9] = (uint8_t)(6 + (v->version >= 19));
	place[0x120 + 32 + 10] = (uint8_t)(18 + (v->version >= 19));
	put(0x180, PLACE + 0x200, 8), put(0x188, 2, 2);
	put(0x180 + 16 + 8, PLACE + 0x240, 8), put(0x180 + 16 + 16, PLACE + 0x260, 8);
	put(0x210, PLACE + 0x280, 8);
	put_symbol(0x240, "keep"), put_symbol(0x260, "Shop.java"), put_symbol(0x280, "Shop");
	memcpy(place + 0x2c0, "nmethod", 8);
	/* The piece of code. */
	l.blob_name = 0, l.compile_id = 8, l.nmethod_method = 16;
	put(blob, PLACE + 0x2c0, 8), put(blob + 8, 77, 4), put(blob + 16, PLACE + 0x100, 8);
	l.pc_offset = 0, l.pc_scope = 4, l.pc_size = 16;
	l.pcs_offset = 24, put(blob + 24, 0x80, 4);
	if (v->begin_pointer)
		l.blob_code_begin = 40, put(blob + 40, PLACE + 0x800, 8);
	else
		l.blob_code_offset = 40, put(blob + 40, 0x400, 4);
	if (v->scopes_pointer)
		l.scopes_begin = 48, put(blob + 48, PLACE + tables + 0x90, 8);
	else
		l.scopes_offset = 48, put(blob + 48, 0x90, 4);
	l.pcs_end_offset = 56, put(blob + 56, 0x90, 4);
	if (v->has_immutable)
		l.immutable = 64, put(blob + 64, PLACE + tables, 8);
	l.metadata_offset = 72, put(blob + 72, 0x300, 4);
	if (v->has_mutable) {
		l.blob_mutable = 80, put(blob + 80, PLACE + 0x1800, 8);
		l.blob_relocation_size = 88, put(blob + 88, 8, 4);
	} else if (v->has_immutable) {
		/* Of two bytes, and behind it something else. */
		l.blob_data_offset = 96, put(blob + 96, 0x200, 4);
		put(blob + 72, 0x7fff0100, 4);
	}
	put(tables + 0x80, 0x10, 4), put(tables + 0x84, 2, 4);
	for (int i = 0; i < 3; i++)
		place[tables + 0x92 + i] =
			(uint8_t)((const char *)"\0\1\4")[i] + (v->version >= 19);
	put(metadata, PLACE + 0x100, 8);
	return l;
}

static void check_shop(void *ctx, const struct hotspot_place *found)
{
	size_t *count = ctx;

	++*count;
	assert_string_equal(found->function, "Shop.keep");
	assert_string_equal(found->file, "Shop.java");
	assert_int_equal(found->line, 9);
}

static void where_versions_have_tables(void **state)
{
	static const struct version_tables versions[] = {
		{"8", 8, false, false, false, false},
		{"17", 17, true, true, false, false},
		{"23", 23, false, false, true, false},
		{"25", 25, false, false, true, true},
	};
	const struct hotspot_memory memory = {read_place, NULL};
	const struct runtime_call call = {
		.code = PLACE + 0x400, .cookie = 77, .place = HOTSPOT_COMPILED | 0x410};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct hotspot_layout layout = put_version(&versions[i]);
		size_t count = 0;

		print_message("%s\n", versions[i].name);
		assert_int_equal(hotspot_code_places(&layout, &memory, &call, check_shop, &count),
				 0);
		assert_int_equal(count, 1);
	}
}

static void any_tables(void **state)
{
	struct anything a = {.seed = 362436069ull};
	const struct hotspot_memory memory = {read_anything, &a};

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct hotspot_layout layout = layout_of(&a, 17);
		const struct hotspot_symbols symbols = {0};
		char reason[REASON_MAX] = "";
		struct hotspot_row row;
		int err = hotspot_row_read(&layout, &memory, &row, reason);

		assert_true(err == 0 || err == -EAGAIN || (err == -ENOTSUP && *reason));
		for (size_t k = 0; !err && k < ARRAY_SIZE(row.heaps); k++)
			assert_true(row.heaps[k].start <= row.heaps[k].end &&
				    row.segment_shift <= 20);
		err = hotspot_layout_read(&symbols, 0, &memory, &layout, reason);
		assert_true(err == -EAGAIN || (err == -ENOTSUP && *reason));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_memory),
		cmocka_unit_test(circle_of_scopes),
		cmocka_unit_test(any_tables),
		cmocka_unit_test(where_versions_have_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
