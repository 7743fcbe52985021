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
#include "user/target/hotspot_code.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
