// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes that are read never past their end, and written as they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/bytes.h"

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static void in_order(void **state)
{
	struct bytes_reader r = {.p = bytes, .end = bytes + sizeof(bytes)};
	uint8_t two[2];

	(void)state;
	assert_int_equal(bytes_get_number(&r, 1), 1);
	assert_int_equal(bytes_get_32(&r), 0x05040302);
	assert_int_equal(bytes_get_number(&r, 2), 0x0706);
	bytes_get(&r, two, sizeof(two));
	assert_memory_equal(two, bytes + 7, 2);
	assert_int_equal(bytes_left(&r), 4);
	assert_ptr_equal(bytes_take(&r, 4), bytes + 9);
	assert_ptr_equal(bytes_take(&r, 0), r.end);
	assert_false(r.bad);
}

/* Whatever is asked for: zeros, and nothing more comes, though less would have been there. */
static void past_the_end(void **state)
{
	(void)state;
	for (int how = 0; how < 5; how++) {
		struct bytes_reader r = {.p = bytes, .end = bytes + 7};
		uint64_t word = UINT64_MAX;

		switch (how) {
		case 0:
			assert_int_equal(bytes_get_64(&r), 0);
			break;
		case 1:
			bytes_get(&r, &word, sizeof(word));
			assert_int_equal(word, 0);
			break;
		case 2:
			assert_null(bytes_take(&r, SIZE_MAX));
			break;
		case 3: /* a size that no number has */
			r.end = bytes + sizeof(bytes);
			assert_int_equal(bytes_get_number(&r, 9), 0);
			break;
		default: /* who reads says that it is not what it should be */
			r.bad = true;
		}
		assert_int_equal(bytes_get_number(&r, 1), 0);
		assert_true(r.bad);
		assert_ptr_equal(r.p, r.end);
	}
}

static void there_and_back(void **state)
{
	struct bytes_writer w = {.failed = false};
	struct bytes_reader r;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		bytes_put_32(&w, i);
		bytes_put_64(&w, UINT64_MAX - i);
		bytes_put(&w, bytes, i % sizeof(bytes));
	}
	assert_false(w.failed);
	r = (struct bytes_reader){.p = w.bytes, .end = w.bytes + w.len};
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(bytes_get_32(&r), i);
		assert_true(bytes_get_64(&r) == UINT64_MAX - i);
		assert_memory_equal(bytes_take(&r, i % sizeof(bytes)), bytes, i % sizeof(bytes));
	}
	assert_false(r.bad);
	assert_int_equal(bytes_left(&r), 0);
	free(w.bytes);
}

/* What there can be no room for is not written, and neither is what comes behind it. */
static void no_memory(void **state)
{
	struct bytes_writer w = {.failed = false};

	(void)state;
	bytes_put_32(&w, 7);
	bytes_put(&w, bytes, SIZE_MAX);
	assert_true(w.failed);
	bytes_put_32(&w, 8);
	assert_int_equal(w.len, sizeof(uint32_t));
	free(w.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
