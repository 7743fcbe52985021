// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FNV-1a by the values that its authors publish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/fnv.h"

static uint64_t of(const char *text)
{
	return fnv1a(FNV1A_BASIS, text, strlen(text));
}

static void published(void **state)
{
	(void)state;
	assert_int_equal(of(""), 0xcbf29ce484222325);
	assert_int_equal(of("a"), 0xaf63dc4c8601ec8c);
	assert_int_equal(of("foobar"), 0x85944171f73967e8);
}

static void in_parts(void **state)
{
	(void)state;
	assert_int_equal(fnv1a(of("foo"), "bar", 3), of("foobar"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),
		cmocka_unit_test(in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
