// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/runtime.h"

/* sys._debugmallocstats() says how large an arena is: 262144 bytes up to 3.9, 1048576 from 3.10 on. */
static void test_arenas_by_version(void **state)
{
	static const struct {
		uint32_t version;
		uint64_t sizes[2];
		const char *shown;
	} cases[] = {
		{0, {1 << 18, 1 << 20}, "arena growth, sampled: one per arena"},
		{0x03080000, {1 << 18, 1 << 18}, "arena growth, sampled: one per 256 KiB"},
		{0x03090000, {1 << 18, 1 << 18}, "arena growth, sampled: one per 256 KiB"},
		{0x030a0000, {1 << 20, 1 << 20}, "arena growth, sampled: one per MiB"},
		{0x030b07f0, {1 << 20, 1 << 20}, "arena growth, sampled: one per MiB"},
		{0x030e00f0, {1 << 20, 1 << 20}, "arena growth, sampled: one per MiB"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct runtime_pool *pool = runtime_pool(RUNTIME_PYTHON, cases[i].version);

		assert_non_null(pool);
		assert_int_equal(pool->sizes[0], cases[i].sizes[0]);
		assert_int_equal(pool->sizes[1], cases[i].sizes[1]);
		assert_string_equal(pool->shown, cases[i].shown);
	}
}

/* PHP maps blocks of any size; the others have no arenas that could be told. */
static void test_arenas_of_others(void **state)
{
	const struct runtime_pool *php = runtime_pool(RUNTIME_PHP, 0);

	(void)state;
	assert_non_null(php);
	assert_int_equal(php->sizes[0], 0);
	assert_int_equal(php->sizes[1], 0);
	for (enum runtime runtime = 0; runtime < RUNTIMES; runtime++) {
		if (runtime != RUNTIME_PYTHON && runtime != RUNTIME_PHP)
			assert_null(runtime_pool(runtime, 0));
	}
	assert_null(runtime_pool(RUNTIME_NONE, 0x030b0000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arenas_by_version),
		cmocka_unit_test(test_arenas_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
