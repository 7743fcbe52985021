// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What has grown between two looks at a process, and the order of its kinds of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "user/analysis/inspection_order.h"

#define NS 1000000000ull

static struct inspected_group *add(struct inspection *i, const char *name, uint64_t size,
				   uint64_t bytes, uint64_t count)
{
	struct inspected_group *g;

	i->groups = reallocarray(i->groups, i->group_count + 1, sizeof(*i->groups));
	assert_non_null(i->groups);
	g = &i->groups[i->group_count++];
	*g = (struct inspected_group){.kind = name ? GROUP_CLASS : GROUP_SIZE,
				      .name = (char *)name,
				      .size = size,
				      .live = {bytes, count}};
	return g;
}

static const struct inspected_group *find(const struct inspection *i, uint64_t size)
{
	for (size_t n = 0; n < i->group_count; n++) {
		if (i->groups[n].size == size)
			return &i->groups[n];
	}
	fail_msg("no group of %d bytes", (int)size);
	return NULL;
}

/* By kind, name, size and beginning: what only looks alike is another. */
static void growth(void **state)
{
	struct inspection before = {.time_ns = 10 * NS}, now = {.time_ns = 12 * NS};

	(void)state;
	add(&before, NULL, 16, 160, 10);
	add(&before, NULL, 32, 3200, 100);
	add(&before, "a", 48, 48, 1);
	add(&before, NULL, 64, 640, 10)->beginning = 7;
	add(&now, NULL, 64, 1280, 20)->beginning = 8;
	add(&now, "b", 48, 96, 2);
	add(&now, NULL, 32, 320, 10);
	add(&now, NULL, 16, 360, 20);
	assert_int_equal(inspection_find_growth(&now, &before), 0);
	assert_true(find(&now, 16)->growth_known && find(&now, 16)->growth_bytes_per_s == 100);
	assert_true(find(&now, 32)->growth_bytes_per_s == -1440);
	/* These have come since. */
	assert_true(find(&now, 48)->growth_bytes_per_s == 48);
	assert_true(find(&now, 64)->growth_bytes_per_s == 640);
	/* A clock that has been set back tells nothing. */
	now.groups[0].growth_known = false;
	before.time_ns = 13 * NS;
	assert_int_equal(inspection_find_growth(&now, &before), 0);
	assert_false(now.groups[0].growth_known);
	free(before.groups);
	free(now.groups);
}

/* A loss goes on to name its group, whatever the order. */
static void order(void **state)
{
	struct inspected_loss losses[] = {{.group = 0}, {.group = 2}};
	struct inspection i = {.losses = losses, .loss_count = 2};

	(void)state;
	add(&i, NULL, 16, 160, 10)->growth_bytes_per_s = 5;
	add(&i, NULL, 32, 3200, 1)->growth_bytes_per_s = -5;
	add(&i, NULL, 48, 480, 20);
	i.groups[0].growth_known = i.groups[1].growth_known = i.groups[2].growth_known = true;
	assert_int_equal(inspection_sort(&i, INSPECTION_BY_BYTES), 0);
	assert_int_equal(i.groups[0].size, 32);
	assert_int_equal(i.groups[1].size, 48);
	assert_int_equal(i.groups[2].size, 16);
	assert_int_equal(i.groups[losses[0].group].size, 16);
	assert_int_equal(i.groups[losses[1].group].size, 48);
	assert_int_equal(inspection_sort(&i, INSPECTION_BY_COUNT), 0);
	assert_int_equal(i.groups[0].size, 48);
	assert_int_equal(i.groups[2].size, 32);
	assert_int_equal(inspection_sort(&i, INSPECTION_BY_GROWTH), 0);
	assert_int_equal(i.groups[0].size, 16);
	assert_int_equal(i.groups[2].size, 32);
	assert_int_equal(i.groups[losses[0].group].size, 16);
	assert_int_equal(i.groups[losses[1].group].size, 48);
	free(i.groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth),
		cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
