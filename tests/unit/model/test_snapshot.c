// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/lost_cause.h"
#include "user/model/lost_causes.h"
#include "user/model/snapshot.h"

static void check_key(const char *name)
{
	assert_true(*name);
	for (const char *c = name; *c; c++)
		assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
}

/* Every cause and end has a key of its own that can be used in jq and shell as it stands. */
static void names(void **state)
{
	(void)state;
	for (int i = 0; i < LOST_CAUSES; i++) {
		check_key(lost_cause_name((enum lost_cause)i));
		assert_true(strlen(lost_cause_text((enum lost_cause)i)) > 20);
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(lost_cause_name((enum lost_cause)i),
						lost_cause_name((enum lost_cause)j));
			assert_string_not_equal(lost_cause_text((enum lost_cause)i),
						lost_cause_text((enum lost_cause)j));
		}
	}
	for (int i = 0; i < STACK_ENDS; i++) {
		check_key(stack_end_name((enum stack_end)i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(stack_end_name((enum stack_end)i),
						stack_end_name((enum stack_end)j));
	}
}

static void unknown_numbers(void **state)
{
	(void)state;
	assert_string_equal(lost_cause_name(LOST_CAUSES), "unknown");
	assert_non_null(lost_cause_text((enum lost_cause) - 1));
	assert_string_equal(stack_end_name((enum stack_end)255), "unknown");
}

/* What is left behind the sanitized build reports. */
static void freeing(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	char **cmdline = calloc(3, sizeof(*cmdline));

	(void)state;
	assert_true(s && cmdline);
	cmdline[0] = strdup("a");
	cmdline[1] = strdup("b");
	s->cmdline = cmdline;
	s->stacks = calloc(5, sizeof(*s->stacks));
	s->stack_count = 5;
	snapshot_free(s);
	snapshot_free(calloc(1, sizeof(*s)));
	snapshot_free(NULL);
}

/* What is in the head is the sum of the stacks, whatever was there. */
static void totals(void **state)
{
	struct stack stacks[] = {
		{.live = {100, 1}, .alloc = {150, 3}, .free = {50, 2}},
		{.live = {300, 2}, .alloc = {300, 2}},
	};
	struct snapshot s = {.stacks = stacks, .stack_count = 2, .live = {7, 7}};

	(void)state;
	snapshot_total(&s);
	assert_int_equal(s.live.bytes, 400);
	assert_int_equal(s.live.count, 3);
	assert_int_equal(s.alloc.bytes, 450);
	assert_int_equal(s.alloc.count, 5);
	assert_int_equal(s.free.bytes, 50);
	assert_int_equal(s.free.count, 2);
}

static size_t allocating(const struct frame *const *frames, enum allocating which)
{
	size_t count = 0;

	while (frames && frames[count])
		count++;
	return frames_allocating(frames, count, which);
}

/* Which frame is said to have allocated, by what is passed over. */
static void allocating_frames(void **state)
{
	const struct frame malloc_ = {.function = "malloc", .module = "libc.so.6"};
	const struct frame new_ = {.function = "operator new(unsigned long)"};
	const struct frame library = {.function = "std::vector<int>::push_back(int)"};
	const struct frame strdup_ = {.function = "strdup", .module = "libc.so.6"};
	const struct frame unknown = {.module = "shop"};
	const struct frame own = {.function = "fill", .module = "shop"};
	const struct frame *const all[] = {&malloc_, &unknown, &new_, &library,
					   &strdup_, &own,     NULL};
	const struct frame *const libraries[] = {&malloc_, &new_, &strdup_, NULL};
	const struct frame *const only[] = {&malloc_, &new_, NULL};

	(void)state;
	assert_int_equal(allocating(all, ALLOCATING_CALLER), 2);
	assert_int_equal(allocating(all, ALLOCATING_PROGRAM), 5);
	assert_int_equal(allocating(libraries, ALLOCATING_PROGRAM), 0);
	assert_int_equal(allocating(only, ALLOCATING_CALLER), 1);
	assert_int_equal(allocating(NULL, ALLOCATING_CALLER), 0);
	assert_true(frame_is_operator_new(&new_));
	assert_false(frame_is_operator_new(&unknown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(unknown_numbers),
		cmocka_unit_test(freeing),
		cmocka_unit_test(totals),
		cmocka_unit_test(allocating_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
