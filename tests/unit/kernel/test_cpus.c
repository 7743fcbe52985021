// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/kernel/cpus.h"

static void test_cpus(void **state)
{
	static const char *const bad[] = {"", "a", "1-", "3-1", "1,", "1;2", "99999999", "0-3,2"};
	unsigned *cpus;
	size_t count;

	(void)state;
	assert_int_equal(cpus_parse("0-2,5,7-8\n", &cpus, &count), 0);
	assert_int_equal(count, 6);
	assert_memory_equal(cpus, ((unsigned[]){0, 1, 2, 5, 7, 8}), 6 * sizeof(*cpus));
	free(cpus);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse(bad[i], &cpus, &count), -EINVAL);
	assert_int_equal(cpus_online(&cpus, &count), 0);
	assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
	free(cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
