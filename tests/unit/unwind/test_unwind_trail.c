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
static struct unwind_trails trails;

static int start(void **test_state)
{
	struct unwind_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -1;
	memset(&trails, 0, sizeof(trails));
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

/* What is known of the stack as it is; 0: nothing. */
static uint64_t known(struct unwind_state *state, uint32_t generation)
{
	const struct unwind_kept *kept;

	state->regs = (struct unwind_regs){.pc = PC, .sp = BASE, .fp = 2};
	kept = unwind_trail_find(state, &trails, generation);
	return kept ? kept->number : 0;
}

/* A walk that depends on the stack's first word and the caller's, as they are. Nothing is known of it. */
static void walk(struct unwind_state *state, uint64_t number)
{
	assert_int_equal(known(state, GENERATION), 0);
	walk_begin(state);
	unwind_note(state, BASE + 8 * CALLER, stack[CALLER]);
	assert_true(unwind_trail_is_whole(state));
	unwind_trail_keep(state, &trails, number);
}

static uint64_t known_from(struct unwind_state *state, uint64_t caller)
{
	stack[CALLER] = caller;
	return known(state, GENERATION);
}

/* A function of a program's own that allocates (zmalloc): as many callers as a set has ways are remembered, in any order. */
static void test_callers_of_one_place(void **test_state)
{
	struct unwind_state *state = *test_state;

	for (uint64_t i = 0; i < UNWIND_TRAIL_WAYS; i++) {
		stack[CALLER] = 100 + i;
		walk(state, 1 + i);
	}
	for (uint64_t i = 0; i < 4ull * UNWIND_TRAIL_WAYS; i++) {
		uint64_t caller = i * 5 % UNWIND_TRAIL_WAYS;

		assert_int_equal(known_from(state, 100 + caller), 1 + caller);
	}
	/* One more comes in place of the one that was walked first. */
	assert_int_equal(known_from(state, 200), 0);
	walk(state, 50);
	assert_int_equal(known_from(state, 200), 50);
	assert_int_equal(known_from(state, 100), 0);
	assert_int_equal(known_from(state, 101), 2);
}

/* What followed a trail before is looked at first: two by turns are found without their set. */
static void test_one_after_the_other(void **test_state)
{
	struct unwind_state *state = *test_state;

	stack[CALLER] = 100;
	walk(state, 1);
	stack[CALLER] = 200;
	walk(state, 2);
	assert_int_equal(known_from(state, 100), 1);
	assert_int_equal(known_from(state, 200), 2);
	for (int i = 0; i < 6; i++) {
		state->key = 0;
		assert_int_equal(known_from(state, i % 2 ? 200 : 100), i % 2 ? 2 : 1);
		assert_int_equal(state->key, 0); /* nobody has computed it */
	}
}

/* Half as many places as there are trails: nearly all are remembered, wherever they fall. */
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
	assert_in_range(found, UNWIND_TRAILS / 2 * 9 / 10, UNWIND_TRAILS / 2);
}

/* A walk that has read as many words as a trail may have. The stack's first word is `top`. */
static void walk_far(struct unwind_state *state, uint64_t top)
{
	stack[0] = top;
	if (known(state, GENERATION))
		return;
	walk_begin(state);
	for (int i = 1; i < UNWIND_TRAIL_WORDS; i++)
		unwind_note(state, BASE + 8ull * (uint64_t)i, stack[i]);
	unwind_trail_keep(state, &trails, top);
}

/*
 * The room for words goes round: a trail is found with its own words, or not at all. The stack's second word tells the
 * walks of even tops from those of odd ones, and nothing else does: with another's words a trail would be found all the same.
 */
static void test_words_written_over(void **test_state)
{
	struct unwind_state *state = *test_state;
	uint64_t first = 1000, lap = UNWIND_TRAIL_ROOM / UNWIND_TRAIL_WORDS;

	stack[0] = first;
	walk(state, first); /* two words: the others do not lie at multiples of their length */
	for (uint64_t i = 1; i <= lap - 1; i++)
		walk_far(state, first + i);
	stack[0] = first;
	assert_int_equal(known(state, GENERATION), first);
	walk_far(state, first + lap);
	stack[0] = first;
	assert_int_equal(known(state, GENERATION), 0);
	for (uint64_t i = 1; i < 40 * lap; i++) {
		uint64_t number;

		walk_far(state, first + i);
		stack[0] = first + i / 2;
		stack[1] += 7;
		number = known(state, GENERATION);
		stack[1] -= 7;
		assert_int_equal(number, 0);
		number = known(state, GENERATION);
		assert_true(!number || number == first + i / 2);
	}
	/* What was walked last is there. */
	stack[0] = first + 40 * lap - 1;
	assert_int_equal(known(state, GENERATION), first + 40 * lap - 1);
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

/* A trail holds addresses: of a word with more bits, it could not tell whether it is the same. */
static void test_wide_words(void **test_state)
{
	struct unwind_state *state = *test_state;

	for (int bit = UNWIND_WORD_BITS; bit < 64; bit++) {
		walk_begin(state);
		unwind_note(state, BASE + 8, 1ull << bit);
		assert_false(unwind_trail_is_whole(state));
	}
	stack[CALLER] = (1ull << UNWIND_WORD_BITS) - 1;
	walk(state, 5);
	assert_int_equal(known(state, GENERATION), 5);
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
		cmocka_unit_test_setup_teardown(test_callers_of_one_place, start, stop),
		cmocka_unit_test_setup_teardown(test_one_after_the_other, start, stop),
		cmocka_unit_test_setup_teardown(test_places, start, stop),
		cmocka_unit_test_setup_teardown(test_words_written_over, start, stop),
		cmocka_unit_test_setup_teardown(test_what_it_depended_on, start, stop),
		cmocka_unit_test_setup_teardown(test_wide_words, start, stop),
		cmocka_unit_test_setup_teardown(test_out_of_reach, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
