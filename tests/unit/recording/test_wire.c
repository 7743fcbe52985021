// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The wire format of protocol buffers: numbers, nested messages, and bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "user/base/util.h"
#include "user/recording/wire.h"

static void wire_numbers(void **state)
{
	static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, INT64_MAX, UINT64_MAX};
	struct wire w = {0};
	struct wire_field field;
	struct wire_reader r;
	size_t mark;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		wire_uint(&w, 1, numbers[i]);
		wire_fixed64(&w, 1000000, numbers[i]);
	}
	/* A nested message whose length takes two bytes. */
	mark = wire_open(&w, 2);
	for (int i = 0; i < 300; i++)
		wire_zigzag(&w, -i);
	wire_close(&w, mark);
	assert_false(w.failed);
	r = (struct wire_reader){w.data, w.data + w.len};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(numbers); i++) {
		assert_int_equal(wire_next(&r, &field), 1);
		assert_int_equal(field.field, i % 2 ? 1000000 : 1);
		assert_int_equal(field.number, numbers[i / 2]);
	}
	assert_int_equal(wire_next(&r, &field), 1);
	for (int i = 0; i < 300; i++) {
		int64_t value;

		assert_int_equal(wire_read_zigzag(&field.body, &value), 0);
		assert_int_equal(value, -i);
	}
	assert_int_equal(wire_left(&field.body), 0);
	assert_int_equal(wire_next(&r, &field), 0);
	wire_free(&w);
}

static void wire_damage(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
	} bad[] = {
		{{0x00, 0x00}, 2},	 /* field 0 */
		{{0x08}, 1},		 /* no value */
		{{0x08, 0x80}, 2},	 /* a value without an end */
		{{0x0a, 0x05, 1, 2}, 4}, /* longer than what is left */
		{{0x09, 1, 2, 3}, 4},	 /* fixed64 cut short */
		{{0x0b}, 1},		 /* groups are of the past */
		{{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02},
		 11}, /* 65 bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct wire_reader r = {bad[i].bytes, bad[i].bytes + bad[i].len};
		struct wire_field field;

		assert_int_equal(wire_next(&r, &field), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_numbers),
		cmocka_unit_test(wire_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
