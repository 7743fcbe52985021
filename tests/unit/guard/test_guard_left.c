// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Guards that have been touched without an event: while no tool was there, or by somebody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
#include <stdio.h>

int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_of_target.h"

#define BEHIND (GUARD_DATA + GUARD_PAGE)

/* As gdb does that looks at memory: the page behind each block, and its own. */
static void touch_all(const struct guard *guard)
{
	struct guard_place place = guard_place(guard);

	for (uint64_t at = 0; at < 2ull * place.count; at++) {
		uint64_t address =
			place.pool + (at / 2 << GUARD_PLACE_BITS) + (at % 2 ? BEHIND : GUARD_DATA);
		uint8_t byte;
		struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)address, 1};

		assert_int_equal(process_vm_readv(target.pid, &to, 1, &from, 1, 0), 1);
	}
	assert_int_equal(pages_there(guard, BEHIND), place.count);
	assert_int_equal(pages_there(guard, GUARD_DATA), place.count);
}

/* Until each place has had a block; what is there then. */
static size_t there_after_blocks(const struct guard *guard)
{
	uint64_t from = figures(guard, &(uint64_t){0}).guarded;

	while (figures(guard, &(uint64_t){0}).guarded < from + PLACES) {
		assert_int_equal(ask("h"), 0);
		assert_int_equal(ask("f"), 0);
	}
	return pages_there(guard, BEHIND);
}

static void without_a_tool(void **state)
{
	struct guard *guard = start_guard(1);

	(void)state;
	assert_int_equal(ask("e"), 0);
	there_after_blocks(guard);
	touch_all(guard);
	close_guard(guard);
	guard = start_guard(1);
	assert_true(guard_place(guard).taken_over);
	assert_int_equal(there_after_blocks(guard), 0);
	close_guard(guard);
}

static void by_others(void **state)
{
	struct guard *guard = start_guard(1);
	char reason[REASON_MAX] = "";

	(void)state;
	assert_int_equal(ask("e"), 0);
	there_after_blocks(guard);
	touch_all(guard);
	/* Nobody has seen it yet. */
	assert_int_equal(there_after_blocks(guard), PLACES);
	assert_int_equal(guard_watch(guard, reason), 0);
	assert_int_equal(there_after_blocks(guard), 0);
	close_guard(guard);
}

/* Not yet used, live, freed: what is there by right is no reason to pass a place over where pages are kept. */
static void by_nobody(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *guard;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("s"), 0);
	guard = start_guard(1);
	assert_true(guard_place(guard).keep_pages);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask("h"), 0);
		assert_int_equal(guard_watch(guard, reason), 0);
		assert_int_equal(ask("f"), 0);
		assert_int_equal(guard_watch(guard, reason), 0);
		assert_int_equal(there_after_blocks(guard), 0);
	}
	assert_int_equal(pages_there(guard, GUARD_DATA), PLACES);
	assert_int_equal(figures(guard, &(uint64_t){0}).full, 0);
	close_guard(guard);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_tool, start_target, end_target),
		cmocka_unit_test_setup_teardown(by_others, start_target, end_target),
		cmocka_unit_test_setup_teardown(by_nobody, start_target, end_target),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
