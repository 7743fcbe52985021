// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a thread remembers of the stacks that it has walked: bpf/unwind_trail.h, over a stack of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unwind/memory.h"
#include "bpf/unwind_trail.h"

#define TARGET	   7
#define GENERATION 3
#define PC	   0x401000
#define BASE	   0x7ffc12345008ull /* where the stack is said to lie: the same in each run */
#define CALLER	   20		     /* the word of the stack that tells ways on from each other */

static uint64_t stack[4 * UNWIND_WINDOW_WORDS];

static int read_stack(void *to, uint32_t size, uint64_t address)
{
	uint64_t offset = address - BASE;

	if (offset > sizeof(stack) || size > sizeof(stack) - offset)
		return -EFAULT;
	memcpy(to, (char *)stack + offset, size);
	return 0;
}

static struct unwind_memory memory = {.read = read_stack};

static int start(void **test_state)
{
	struct unwind_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -1;
	state->memory = &memory;
	state->target_id = TARGET;
	for (size_t i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = i;
	*test_state = state;
	return 0;
}

static int stop(void **test_state)
{
	free(*test_state);
	return 0;
}

static void walk_begin(struct unwind_state *state)
{
	state->regs = (struct unwind_regs){.pc = PC, .sp = BASE, .fp = 1};
	state->trail.regs = state->regs;
	state->trail.target_id = TARGET;
	state->trail.generation = GENERATION;
	state->trail.count = state->trail.uses_fp = 0;
	state->trail.other = 0;
	unwind_note(state, BASE, stack[0]);
}

/* A walk that depends on the stack's first word and the caller's, as they are. */
static void walk(struct unwind_state *state, uint64_t number)
{
	struct unwind_trail *trail;

	walk_begin(state);
	unwind_note(state, BASE + 8 * CALLER, stack[CALLER]);
	assert_true(unwind_trail_is_whole(state));
	trail = unwind_trail_replace(state);
	assert_non_null(trail);
	state->trail.number = number;
	*trail = state->trail;
}

/* What is known of the stack as it is; 0: nothing. */
static uint64_t known(struct unwind_state *state, uint32_t generation)
{
	const struct unwind_trail *trail;

	state->regs = (struct unwind_regs){.pc = PC, .sp = BASE, .fp = 2};
	trail = unwind_trail_find(state, generation);
	return trail ? trail->number : 0;
}

static uint64_t known_from(struct unwind_state *state, uint64_t caller)
{
	stack[CALLER] = caller;
	return known(state, GENERATION);
}

/* A place that a program allocates in from two callers by turns: neither takes the other's room. */
static void test_two_callers(void **test_state)
{
	struct unwind_state *state = *test_state;

	stack[CALLER] = 100;
	walk(state, 1);
	stack[CALLER] = 200;
	walk(state, 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(known_from(state, 100), 1);
		assert_int_equal(known_from(state, 200), 2);
	}
	/* A third one comes in place of that which was not used last. */
	assert_int_equal(known_from(state, 100), 1);
	assert_int_equal(known_from(state, 300), 0);
	walk(state, 3);
	assert_int_equal(known_from(state, 200), 0);
	assert_int_equal(known_from(state, 100), 1);
	assert_int_equal(known_from(state, 300), 3);
}

/* As many places as there are trails, in a program at work: most are remembered, wherever they fall. */
static void test_places(void **test_state)
{
	struct unwind_state *state = *test_state;
	int found = 0;

	for (uint64_t top = 1; top <= UNWIND_TRAILS / 2; top++) {
		stack[0] = top;
		walk(state, top);
	}
	for (uint64_t top = 1; top <= UNWIND_TRAILS / 2; top++) {
		stack[0] = top;
		found += known(state, GENERATION) == top;
	}
	assert_in_range(found, UNWIND_TRAILS / 2 - 2, UNWIND_TRAILS / 2);
}

static void test_what_it_depended_on(void **test_state)
{
	struct unwind_state *state = *test_state;

	walk(state, 1);
	assert_int_equal(known(state, GENERATION), 1);
	assert_int_equal(known(state, GENERATION + 1), 0);
	stack[0]++;
	assert_int_equal(known(state, GENERATION), 0);
	stack[0]--;
	state->target_id = TARGET + 1;
	assert_int_equal(known(state, GENERATION), 0);
	state->target_id = TARGET;
	assert_int_equal(known(state, GENERATION), 1);
	stack[CALLER]++;
	assert_int_equal(known(state, GENERATION), 0);
}

static void assert_not_kept(struct unwind_state *state, uint64_t address)
{
	walk_begin(state);
	unwind_note(state, address, 1);
	assert_false(unwind_trail_is_whole(state));
}

/* What a trail has no room for makes it none, and is not taken for a nearer word. */
static void test_out_of_reach(void **test_state)
{
	struct unwind_state *state = *test_state;
	uint64_t sp = BASE;

	walk_begin(state);
	unwind_note(state, sp + (1 << UNWIND_TRAIL_REACH) - 8, 1);
	assert_true(unwind_trail_is_whole(state));
	for (int bit = UNWIND_TRAIL_REACH; bit < 64; bit++)
		assert_not_kept(state, sp + (1ull << bit));
	assert_not_kept(state, sp - 8);
	assert_not_kept(state, sp + 4);
	/* Of a stack pointer that is not aligned the words have no whole distance. */
	walk_begin(state);
	state->trail.regs.sp = sp + 4;
	unwind_note(state, sp + 16, 1);
	assert_false(unwind_trail_is_whole(state));
	walk_begin(state);
	for (int i = 0; i < UNWIND_TRAIL_WORDS; i++)
		unwind_note(state, sp + 8, 1);
	assert_false(unwind_trail_is_whole(state));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_callers, start, stop),
		cmocka_unit_test_setup_teardown(test_places, start, stop),
		cmocka_unit_test_setup_teardown(test_what_it_depended_on, start, stop),
		cmocka_unit_test_setup_teardown(test_out_of_reach, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
