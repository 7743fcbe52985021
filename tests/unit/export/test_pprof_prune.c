// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which frames a profile tells pprof to leave out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "user/base/util.h"
#include "user/export/pprof_prune.h"

static const struct frame p_malloc = {.function = "malloc", .module = "libc.so.6"};
static const struct frame p_new = {.function = "operator new(unsigned long)"};
static const struct frame p_grow = {
	.function = "void std::vector<int, std::allocator<int> >::_M_grow<int*>(int*)"};
static const struct frame p_each = {
	.function = "std::for_each<int*, void (*)(int)>(int*, void (*)(int))"};
static const struct frame p_own = {.function = "(anonymous namespace)::fill(int)"};
static const struct frame p_wrapper = {.function = "shop::xmalloc(int)"};
static const struct frame p_main = {.function = "main"};
static const struct frame p_hostile = {.function = "\xff|.*malloc"};
static const struct frame p_nameless = {.module = "shop", .offset = 0x10};

/* Of these stacks, each of which ends with NULL. */
static void assert_pruned(const struct frame *const *const stacks[], size_t count, const char *drop,
			  const char *keep)
{
	struct collected_stack collected[8] = {0};
	struct collected_target target = {.stacks = collected, .stack_count = count};
	struct collection c = {.frames = frame_table_new(), .targets = &target, .target_count = 1};
	struct pprof_prune prune;

	assert_non_null(c.frames);
	for (size_t i = 0; i < count; i++) {
		size_t frames = 0;

		while (stacks[i][frames])
			frames++;
		assert_int_equal(
			frame_table_stack(c.frames, stacks[i], frames, &collected[i].frames), 0);
	}
	assert_int_equal(pprof_prune_make(&c, NULL, &prune), 0);
	assert_int_equal(!prune.drop, !drop);
	assert_int_equal(!prune.keep, !keep);
	if (drop)
		assert_string_equal(prune.drop, drop);
	if (keep)
		assert_string_equal(prune.keep, keep);
	pprof_prune_release(&prune);
	frame_table_free(c.frames);
}

#define STACK(...) ((const struct frame *const[]){__VA_ARGS__, NULL})
#define STACKS(...)                                        \
	(const struct frame *const *const[]){__VA_ARGS__}, \
		ARRAY_SIZE(((const struct frame *const *const[]){__VA_ARGS__}))

static void beneath_the_site(void **state)
{
	(void)state;
	assert_pruned(
		STACKS(STACK(&p_malloc, &p_new, &p_grow, &p_own, &p_main)),
		"malloc|operator new|void std::vector<int, std::allocator<int> >::_M_grow<int\\*>",
		NULL);
	assert_pruned(STACKS(STACK(&p_malloc, &p_wrapper, &p_main)), "malloc|shop::xmalloc", NULL);
}

/* What std::for_each() calls may not go because for_each() allocates elsewhere itself. */
static void kept_where_it_calls(void **state)
{
	(void)state;
	assert_pruned(STACKS(STACK(&p_malloc, &p_each, &p_main),
			     STACK(&p_malloc, &p_own, &p_each, &p_main)),
		      "malloc|std::for_each<int\\*, void ", "std::for_each<int\\*, void ");
}

/* The allocation function goes where nothing else is known, and no name is a pattern. */
static void unknown_and_hostile(void **state)
{
	(void)state;
	assert_pruned(STACKS(STACK(&p_malloc, &p_nameless)), "malloc", NULL);
	assert_pruned(STACKS(STACK(&p_hostile, &p_main)), NULL, NULL);
	assert_pruned(NULL, 0, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beneath_the_site),
		cmocka_unit_test(kept_where_it_calls),
		cmocka_unit_test(unknown_and_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
