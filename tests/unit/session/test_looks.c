// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Looks at a process, one after the other: what grew, for how long, in which order; and whose looks they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/session/looks.h"

#define FIRST_NS (1000000 * NS_PER_S)

/* Three kinds of blocks by name, with these bytes, in 100 times as many blocks as the kind's number; and one lost block of "c". */
static struct inspection *look(uint64_t time_ns, uint64_t a, uint64_t b, uint64_t c)
{
	static const char *const names[] = {"a", "b", "c"};
	const uint64_t bytes[] = {a, b, c};
	struct inspection *now = calloc(1, sizeof(*now));

	assert_non_null(now);
	now->time_ns = time_ns;
	now->groups = calloc(ARRAY_SIZE(names), sizeof(*now->groups));
	now->losses = calloc(1, sizeof(*now->losses));
	assert_true(now->groups && now->losses);
	now->losses[now->loss_count++] = (struct inspected_loss){.group = 2, .lost = {c, 1}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct inspected_group *group = &now->groups[now->group_count++];

		group->kind = GROUP_CLASS;
		group->name = strdup(names[i]);
		assert_non_null(group->name);
		group->live = (struct amount){bytes[i], 100 * (i + 1)};
	}
	return now;
}

/* In that order, and the loss is still one of "c". */
static void in_order(const struct inspection *now, const char *names)
{
	assert_int_equal(now->group_count, strlen(names));
	for (size_t i = 0; i < now->group_count; i++)
		assert_int_equal(*now->groups[i].name, names[i]);
	assert_int_equal(now->loss_count, 1);
	assert_string_equal(now->groups[now->losses[0].group].name, "c");
}

static double growth(const struct inspection *now, char name)
{
	for (size_t i = 0; i < now->group_count; i++) {
		if (*now->groups[i].name != name)
			continue;
		assert_true(now->groups[i].growth_known);
		return now->groups[i].growth_bytes_per_s;
	}
	fail_msg("no kind %c", name);
	return 0;
}

static bool growth_is_known(const struct inspection *now)
{
	bool known = false;

	for (size_t i = 0; i < now->group_count; i++)
		known |= now->groups[i].growth_known;
	return known;
}

/* The look before is what growth is told by, the first one what the time is. */
static void growth_since_the_look_before(void **state)
{
	struct looks looks = {0};
	struct inspection *now = look(FIRST_NS, 1000, 2000, 3000);

	(void)state;
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	assert_false(growth_is_known(now));
	assert_int_equal(now->elapsed_ns, 0);
	in_order(now, "cba");
	looks_keep(&looks, now);

	now = look(FIRST_NS + 10 * NS_PER_S, 6000, 2000, 1000);
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	assert_true(growth(now, 'a') == 500);
	assert_true(growth(now, 'b') == 0);
	assert_true(growth(now, 'c') == -200);
	assert_int_equal(now->elapsed_ns, 10 * NS_PER_S);
	in_order(now, "abc");
	looks_keep(&looks, now);

	now = look(FIRST_NS + 12 * NS_PER_S, 6000, 2000, 1020);
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	assert_true(growth(now, 'a') == 0);
	assert_true(growth(now, 'c') == 10);
	assert_int_equal(now->elapsed_ns, 12 * NS_PER_S);
	looks_keep(&looks, now);
	looks_keep(&looks, NULL);
	assert_null(looks.before);
}

/* As --sort has it; what grew most comes first once that is known. */
static void sorted(void **state)
{
	struct looks looks = {0};
	struct inspection *now = look(FIRST_NS, 3000, 2000, 1000);

	(void)state;
	assert_int_equal(looks_relate(&looks, now, RANK_COUNT), 0);
	in_order(now, "cba");
	assert_int_equal(looks_relate(&looks, now, RANK_GROWTH), 0);
	in_order(now, "abc");
	looks_keep(&looks, now);
	now = look(FIRST_NS + NS_PER_S, 3000, 2900, 1100);
	assert_int_equal(looks_relate(&looks, now, RANK_GROWTH), 0);
	in_order(now, "bca");
	looks_keep(&looks, now);
	looks_keep(&looks, NULL);
}

/* Somebody set the clock back: neither a rate nor a time is made up. */
static void a_clock_that_was_set_back(void **state)
{
	struct looks looks = {0};
	struct inspection *now = look(FIRST_NS, 1000, 2000, 3000);

	(void)state;
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	looks_keep(&looks, now);
	for (int i = 0; i < 2; i++) {
		now = look(FIRST_NS - 5 * NS_PER_S, 9000, 2000, 3000);
		assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
		assert_false(growth_is_known(now));
		assert_int_equal(now->elapsed_ns, 0);
		looks_keep(&looks, now);
	}
	looks_keep(&looks, NULL);
}

/* When the time of the first look is taken, none was kept: a process may not be refused a second time. */
static void a_look_that_was_not_kept(void **state)
{
	struct looks looks = {0};
	struct inspection *now = look(FIRST_NS, 1000, 2000, 3000);

	(void)state;
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	inspection_free(now);
	now = look(FIRST_NS + NS_PER_S, 1000, 2000, 3000);
	assert_int_equal(looks_relate(&looks, now, RANK_LIVE), 0);
	assert_false(growth_is_known(now));
	assert_int_equal(now->elapsed_ns, NS_PER_S);
	looks_keep(&looks, now);
	looks_keep(&looks, NULL);
}

/* Two targets' looks are not each other's; of one that is forgotten nothing is left. */
static void by_target(void **state)
{
	struct looks *table = NULL, *one, *other;
	struct inspection *now;

	(void)state;
	looks_forget(&table, 7);
	looks_free(&table);
	one = looks_get(&table, 7);
	assert_non_null(one);
	other = looks_get(&table, 8);
	assert_non_null(other);
	assert_ptr_not_equal(one, other);
	assert_ptr_equal(looks_get(&table, 7), one);
	looks_keep(one, look(FIRST_NS, 1, 2, 3));
	looks_keep(other, look(FIRST_NS, 4, 5, 6));
	now = look(FIRST_NS + NS_PER_S, 5, 5, 5);
	assert_int_equal(looks_relate(other, now, RANK_LIVE), 0);
	assert_true(growth(now, 'a') == 1);
	inspection_free(now);
	looks_forget(&table, 7);
	assert_ptr_equal(looks_get(&table, 8), other);
	assert_int_equal(other->before->groups[0].live.bytes, 4);
	/* The id's next owner begins anew. */
	one = looks_get(&table, 7);
	assert_non_null(one);
	assert_null(one->before);
	assert_int_equal(one->first_ns, 0);
	looks_keep(one, look(FIRST_NS, 1, 2, 3));
	looks_free(&table);
	assert_null(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_since_the_look_before),
		cmocka_unit_test(sorted),
		cmocka_unit_test(a_clock_that_was_set_back),
		cmocka_unit_test(a_look_that_was_not_kept),
		cmocka_unit_test(by_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
