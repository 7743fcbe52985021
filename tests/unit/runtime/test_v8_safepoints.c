// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A table as Node 24.21 has made it, with what --print-maglev-code says of it, and what no V8 would write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_safepoints.h"

static const uint8_t node_24[] = {
	0x06, 0,    0,	  0,	0x04, 0,    0,	  0,
	0xa3, 0,    0,	  0,	0x01, 0,    0,	  0, /* 0xa3: places, 1, 2 and 1 bytes */
	0x1f, 0x00, 0x01, 0xa1, 0x01, 0x00, 0x00,    /* 1f: place 0, left at 1a0 */
	0x64, 0x00, 0x02, 0xa5, 0x01, 0x00, 0x00,    /* 64: 1, 1a4 */
	0x16, 0x01, 0x03, 0xa9, 0x01, 0x00, 0x00,    /* 116: 2, 1a8 */
	0x9c, 0x01, 0x00, 0x00, 0x00, 0x01, 0x01,    /* 19c: none, a slot more, a register */
};

static void is(const uint8_t *table, size_t size, size_t i, uint32_t at, int32_t place)
{
	struct v8_safepoint point;

	assert_true(v8_safepoint_get(table, size, i, &point));
	assert_int_equal(point.at, at);
	assert_int_equal(point.place, place);
}

static void as_it_was(void **state)
{
	struct v8_safepoint point;

	(void)state;
	is(node_24, sizeof(node_24), 0, 0x1f, 0);
	is(node_24, sizeof(node_24), 1, 0x64, 1);
	is(node_24, sizeof(node_24), 2, 0x116, 2);
	is(node_24, sizeof(node_24), 3, 0x19c, -1);
	assert_false(v8_safepoint_get(node_24, sizeof(node_24), 4, &point));
}

/* Of one that is cut what is whole is read, and not a byte behind it. */
static void cut(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(node_24); size++) {
		uint8_t *table = test_malloc(size + 1);
		struct v8_safepoint point;
		size_t count = 0;

		memcpy(table, node_24, size);
		table[size] = 0xff;
		while (v8_safepoint_get(table, size, count, &point))
			count++;
		assert_int_equal(count, size < 16 ? 0 : (size - 16) / 7);
		test_free(table);
	}
}

static void other_forms(void **state)
{
	/* No places: 4 bytes of pc, none of registers. Three bytes of places: 0x100000. */
	static const uint8_t none[] = {1, 0, 0, 0, 1, 0,    0,	  0,	0x40, 0, 0,
				       0, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0};
	static const uint8_t large[] = {1, 0, 0, 0, 1, 0, 0, 0, 0x91, 1, 0,
					0, 0, 0, 0, 0, 7, 1, 0, 0x10, 9, 0};
	uint8_t table[sizeof(node_24)];
	struct v8_safepoint point;

	(void)state;
	is(none, sizeof(none), 0, 0x12345678, -1);
	is(large, sizeof(large), 0, 7, 0x100000);
	/* No bytes of pc; 7 of them, or of places; bits that have no meaning. */
	for (size_t i = 0; i < 4; i++) {
		static const uint16_t forms[] = {0x83, 0xf3, 0x3a3, 0x4a3};

		memcpy(table, node_24, sizeof(table));
		memcpy(table + 8, &forms[i], sizeof(forms[i]));
		assert_false(v8_safepoint_get(table, sizeof(table), 0, &point));
	}
	/* 2^32 - 1 entries: those that there is room for. */
	memset(table + 4, 0xff, 4);
	memcpy(table + 8, node_24 + 8, 4);
	assert_true(v8_safepoint_get(table, sizeof(table), 3, &point));
	assert_false(v8_safepoint_get(table, sizeof(table), 4, &point));
	assert_false(v8_safepoint_get(table, sizeof(table), SIZE_MAX, &point));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_was),
		cmocka_unit_test(cut),
		cmocka_unit_test(other_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
