// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/model/stack_figures.h"

static void bits(void **state)
{
	const struct figures_kept temporary = {.temporary = true};
	struct figures_kept all = figures_of_bits(UINT64_MAX);

	(void)state;
	assert_true(all.lifetimes && all.temporary && all.peak && all.sizes && all.usable);
	assert_int_equal(figures_bits(&temporary), 2);
	assert_true(figures_any(&temporary));
	all = figures_of_bits(1ull << 60);
	assert_false(figures_any(&all));
}

static void classes(void **state)
{
	(void)state;
	assert_int_equal(lifetime_class_ns(0), 0);
	assert_int_equal(lifetime_class_ns(1), 2000);
	assert_int_equal(lifetime_class_ns(23), 8388608000);
}

static void quantiles(void **state)
{
	uint64_t none[LIFETIME_CLASSES] = {0}, few[LIFETIME_CLASSES] = {[4] = 1};
	uint64_t many[LIFETIME_CLASSES] = {[0] = 10, [10] = 980, [20] = 10};
	uint64_t long_ones[LIFETIME_CLASSES] = {[3] = 1, [23] = 9};
	uint64_t last_but_one[LIFETIME_CLASSES] = {[22] = 5};
	uint64_t end;

	(void)state;
	assert_int_equal(lifetimes_quantile(none, 0.5, NULL), 0);
	assert_int_equal(lifetimes_quantile(few, 0.5, &end), 16000);
	assert_int_equal(end, 32000);
	assert_int_equal(lifetimes_quantile(many, 0.5, NULL), 1024000);
	assert_int_equal(lifetimes_quantile(many, 0.99, &end), 1024000);
	assert_int_equal(end, 2048000);
	assert_int_equal(lifetimes_quantile(many, 0.991, NULL), 1024 * 1024000);
	assert_int_equal(lifetimes_quantile(many, 0.01, &end), 0);
	assert_int_equal(end, 2000);
	/* The last class but one, and the last, which has no end. */
	assert_int_equal(lifetimes_quantile(last_but_one, 1, &end), 4194304000);
	assert_int_equal(end, 8388608000);
	assert_int_equal(lifetimes_quantile(long_ones, 0.5, &end), 8388608000);
	assert_int_equal(end, UINT64_MAX);
	assert_int_equal(lifetimes_quantile(long_ones, 0.5, NULL), 8388608000);
	assert_int_equal(lifetimes_quantile(long_ones, 1, NULL), 8388608000);
}

static void outlived(void **state)
{
	uint64_t quick[LIFETIME_CLASSES] = {[1] = 100},
		 slow[LIFETIME_CLASSES] = {[17] = 99, [18] = 1};
	uint64_t mixed[LIFETIME_CLASSES] = {[1] = 97, [18] = 3},
		 longest[LIFETIME_CLASSES] = {[1] = 97, [23] = 3};

	(void)state;
	assert_int_equal(lifetimes_outlived_ns(quick, 99), 0);
	assert_int_equal(lifetimes_outlived_ns(quick, 100), 1000000000);
	assert_int_equal(lifetimes_outlived_ns(slow, 100), 64 * 262144000ull);
	assert_int_equal(lifetimes_outlived_ns(mixed, 100), 64 * 524288000ull);
	/* How long those lived nobody knows. */
	assert_int_equal(lifetimes_outlived_ns(longest, 100), 0);
}

static void sizes(void **state)
{
	struct stack_sizes few = {0}, many = {0};

	(void)state;
	for (uint64_t i = 16; i-- > 0;)
		sizes_add(&few, 100 * (i % 8), 10);
	sizes_add(&few, 99, 0);
	assert_int_equal(few.by_power, 0);
	sizes_round(&few, 10);
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(few.values[i], 100 * i);
		assert_int_equal(few.counts[i], 2);
	}
	assert_int_equal(few.counts[7], 2);
	/* The ninth: 0; 64 to 127; 128 to 255; 256 to 511; 512 to 1023; and what is more than a class has. */
	sizes_add(&few, UINT64_MAX, 3);
	assert_int_equal(few.by_power, 1);
	assert_int_equal(few.counts[0], 2);
	assert_int_equal(few.counts[7], 2);
	assert_int_equal(few.counts[8], 2);
	assert_int_equal(few.counts[9], 6);
	assert_int_equal(few.counts[10], 4);
	assert_int_equal(few.counts[SIZE_CLASSES - 1], 3);
	assert_int_equal(size_class_bytes(7), 64);
	assert_int_equal(size_class_bytes(0), 0);
	sizes_add(&many, 64, 5);
	sizes_add(&many, 127, 5);
	assert_int_equal(many.by_power, 0);
}

static void sums(void **state)
{
	struct stack_figures a = {
		.lifetimes = {1, 2}, .outlived = {1, 2}, .temporary = {3, 4}, .temporary_error = 3};
	const struct stack_figures b = {.lifetimes = {0, 5, 7},
					.outlived_ns = 9,
					.outlived = {10, 20},
					.temporary = {30, 40},
					.temporary_error = 4};

	struct stack_figures more = {0};

	(void)state;
	sizes_add(&a.sizes, 64, 2);
	for (uint64_t i = 1; i < 10; i++)
		sizes_add(&more.sizes, i, 1);
	figures_add(&a, &b);
	figures_add(&a, &more);
	assert_int_equal(a.sizes.by_power, 1);
	assert_int_equal(a.sizes.counts[7], 2);
	assert_int_equal(a.sizes.counts[4], 2);
	assert_int_equal(a.lifetimes[0], 1);
	assert_int_equal(a.lifetimes[1], 7);
	assert_int_equal(lifetimes_count(a.lifetimes), 15);
	assert_int_equal(a.outlived_ns, 9);
	assert_int_equal(a.outlived.bytes, 11);
	assert_int_equal(a.outlived.count, 22);
	assert_int_equal(a.temporary.bytes, 33);
	assert_int_equal(a.temporary.count, 44);
	assert_true(fabs(a.temporary_error - 5) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits),	    cmocka_unit_test(classes), cmocka_unit_test(quantiles),
		cmocka_unit_test(outlived), cmocka_unit_test(sums),    cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
