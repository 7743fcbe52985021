// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables as Node 20.20 has made them of `function middle(x) { let z = x; z += leaf(x); return z; }`, of which the text begins at
 * character 141; and where it called: in the bytecode of leaf(x), character 179, with the return address 0x43 behind the beginning of its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_calls.h"

static const uint8_t positions_of_middle[] = {0x01, 0xe4, 0x04, 0x02, 0x40, 0x06,
					      0x18, 0x07, 0x14, 0x10, 0x50};
static const uint8_t offsets_of_middle[] = {0x17, 0x08, 0x08, 0x04, 0x18, 0x0b, 0x04, 0x11};
static const uint8_t bytecodes_of_middle[] = {0x19, 0x03, 0xfa, 0x17, 0x02, 0xc2, 0x62, 0xf8,
					      0xfa, 0x01, 0x38, 0xfa, 0x00, 0xc4, 0xa9};

#define LEAF	  179 /* the call of leaf(x) */
#define AT_LEAF	  7   /* bytecode 6 */
#define ENTRY	  152
#define CODE_LEAF 0x43

static struct v8_opcodes sizes(void)
{
	struct v8_opcodes opcodes = {.count = 198};

	opcodes.sizes[0][0x19] = 3;
	opcodes.sizes[0][0x17] = 2;
	opcodes.sizes[0][0xc2] = opcodes.sizes[0][0xc4] = opcodes.sizes[0][0xa9] = 1;
	opcodes.sizes[0][0x62] = 4;
	opcodes.sizes[0][0x38] = 3;
	return opcodes;
}

static void interpreted(void **state)
{
	struct v8_places places;

	(void)state;
	assert_true(v8_places_read(&places, positions_of_middle, sizeof(positions_of_middle), false,
				   true));
	assert_int_equal(places.count, 5);
	assert_int_equal(v8_places_find(&places, 0), ENTRY);
	assert_int_equal(v8_places_find(&places, AT_LEAF - 1), 174);
	assert_int_equal(v8_places_find(&places, AT_LEAF), LEAF);
	assert_int_equal(v8_places_find(&places, 100), 199);
	v8_places_free(&places);
}

/* Of Node 26.12, and how another one begins, with a call that no debugger stops at (the last one), which is in front of the one before it. */
static const uint8_t positions_of_26[] = {0x02, 0x34, 0x07, 0x48, 0x16, 0x00, 0x17, 0x1c, 0x0b,
					  0x4c, 0x16, 0x00, 0x1b, 0x54, 0x46, 0x00, 0x17, 0x2c};
static const uint8_t positions_of_26_loop[] = {0x02, 0x80, 0x02, 0x07, 0x7c,
					       0x16, 0x00, 0x61, 0x2f};

static void interpreted_by_26(void **state)
{
	struct v8_places places;

	(void)state;
	assert_true(v8_places_read(&places, positions_of_26, sizeof(positions_of_26), true, true));
	assert_int_equal(v8_places_find(&places, 0), 12);
	assert_int_equal(v8_places_find(&places, 1 + 5), 30);
	assert_int_equal(v8_places_find(&places, 1 + 17), 56);
	assert_int_equal(v8_places_find(&places, 1 + 40), 77);
	assert_int_equal(v8_places_find(&places, 1 + 45), 88);
	v8_places_free(&places);
	assert_true(v8_places_read(&places, positions_of_26_loop, sizeof(positions_of_26_loop),
				   true, true));
	assert_int_equal(v8_places_find(&places, 1 + 28), 94);
	assert_int_equal(v8_places_find(&places, 1 + 29), 82);
	v8_places_free(&places);
	assert_false(v8_places_read(&places, positions_of_26, 3, true, true));
}

/* How far the last one goes of what was cut is not known. */
static void cut(void **state)
{
	struct v8_places places;

	(void)state;
	assert_true(v8_places_read(&places, positions_of_middle, 9, false, false));
	assert_int_equal(v8_places_find(&places, AT_LEAF - 1), 174);
	assert_int_equal(v8_places_find(&places, AT_LEAF), -1);
	v8_places_free(&places);
	/* In the middle of a number. */
	assert_false(v8_places_read(&places, positions_of_middle, 2, false, true));
	assert_int_equal(places.count, 0);
}

static void baseline(void **state)
{
	const struct v8_baseline tables = {offsets_of_middle, bytecodes_of_middle,
					   sizeof(offsets_of_middle), sizeof(bytecodes_of_middle)};
	const struct v8_opcodes opcodes = sizes(), none = {0};
	struct v8_places positions, places;

	(void)state;
	assert_true(v8_places_read(&positions, positions_of_middle, sizeof(positions_of_middle),
				   false, true));
	assert_true(v8_places_of_code(&places, &positions, &tables, &opcodes));
	assert_int_equal(v8_places_find(&places, CODE_LEAF), LEAF);
	assert_int_equal(v8_places_find(&places, 0x17), ENTRY);
	assert_int_equal(v8_places_find(&places, 0x2b), 174);
	assert_int_equal(v8_places_find(&places, 0x1000), -1);
	v8_places_free(&places);
	/* Without how large bytecodes are only the first one is known. */
	assert_true(v8_places_of_code(&places, &positions, &tables, &none));
	assert_int_equal(v8_places_find(&places, CODE_LEAF), -1);
	v8_places_free(&places);
	v8_places_free(&positions);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreted),
		cmocka_unit_test(interpreted_by_26),
		cmocka_unit_test(cut),
		cmocka_unit_test(baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
