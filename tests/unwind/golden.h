/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Golden cases of the unwinder: a piece of code of which each part has a rule, registers, the words
 * of a stack, and the frames that they mean. Included after UNWIND_AARCH64 has been defined or not,
 * by one .c file per program, which defines golden_program.
 */
#ifndef MEMLEAKBPF_TESTS_UNWIND_GOLDEN_H
#define MEMLEAKBPF_TESTS_UNWIND_GOLDEN_H

#include <stdio.h>

#include "tests/unwind/memory.h"
#include "bpf/abi.h"
#include "bpf/stack_end.h"
#include "user/base/util.h"
#include "user/unwind/pages.h"

#define TEXT	   0x400000ull /* where the code is mapped */
#define TEXT_SIZE  0x20000ull
#define JIT	   0x600000ull /* anonymous executable memory */
#define JIT_SIZE   0x1000ull
#define STACK	   0x7ffe0000ull
#define ALTERNATE  0x10000ull /* another stack, below the first */
#define WORDS	   160
#define OTHERS	   64
#define SP(n)	   (STACK + 8 * (n))
#define ALT(n)	   (ALTERNATE + 8 * (n))
#define MAX_GOLDEN 8

/* From this offset of the code on the rule holds. */
struct golden_row {
	uint64_t at;
	struct unwind_rule rule;
};

struct golden {
	const char *name;
	struct unwind_regs regs;
	uint64_t stack[WORDS], other[OTHERS]; /* at STACK and at ALTERNATE */
	uint32_t stack_words;		      /* that there are; 0: all */
	uint32_t max_frames;		      /* 0: as many as possible */
	/* what the kernel says of an address outside of all mappings; else it does not know */
	bool not_code;
	uint64_t frames[MAX_GOLDEN]; /* ended by 0 */
	enum stack_end end;
};

/* The includer's. */
extern const struct golden_program {
	const uint8_t *code; /* [TEXT_SIZE], what the target's code looks like */
	const struct golden_row *rows;
	size_t row_count;
	const struct golden *cases;
	size_t case_count;
} golden_program;

static const struct golden *golden_case;

static inline int golden_read(void *to, uint32_t size, uint64_t address)
{
	const struct {
		const void *from;
		uint64_t at, size;
	} areas[] = {
		{golden_case->stack, STACK,
		 8ull * (golden_case->stack_words ? golden_case->stack_words : WORDS)},
		{golden_case->other, ALTERNATE, sizeof(golden_case->other)},
		{golden_program.code, TEXT, TEXT_SIZE},
		{golden_program.code, JIT, JIT_SIZE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		uint64_t offset = address - areas[i].at;

		if (offset > areas[i].size || size > areas[i].size - offset)
			continue;
		memcpy(to, (const uint8_t *)areas[i].from + offset, size);
		return 0;
	}
	return -EFAULT;
}

struct golden_tables {
	struct unwind_memory memory;
	struct unwind_space *space;
	struct unwind_pages pages;
	uint32_t set;
};

#define GOLDEN_TARGET	 3
#define GOLDEN_SET_WORDS (UNWIND_SET_ALIGN / 4 + 2 * (uint32_t)sizeof(struct unwind_mapping) / 4)

/* The target's two mappings: the object's code and the anonymous one. */
static inline void golden_set(struct golden_tables *t)
{
	const struct unwind_mapping mappings[] = {
		{.end = TEXT + TEXT_SIZE,
		 .base = TEXT,
		 .directory = t->pages.directory,
		 .pages = t->pages.pages,
		 .object = 1},
		{.end = JIT + JIT_SIZE, .base = JIT},
	};
	const uint64_t starts[] = {TEXT, JIT};
	uint8_t *at;

	assert_int_equal(unwind_space_take(t->space, GOLDEN_SET_WORDS, &t->set), 0);
	at = (uint8_t *)unwind_space_at(t->space, t->set);
	memcpy(at, starts, sizeof(starts));
	memcpy(at + UNWIND_SET_ALIGN, mappings, sizeof(mappings));
	t->memory.targets[GOLDEN_TARGET] = (struct unwind_target){
		.set = t->set | 2ull << 32, .target_id = GOLDEN_TARGET, .generation = 1};
}

static inline int golden_set_up(void **tables)
{
	const struct golden_row *rows = golden_program.rows;
	const size_t count = golden_program.row_count;
	struct golden_tables *t = calloc(1, sizeof(*t));
	struct cfi_row table[32];
	uint16_t numbers[32];
	const struct unwind_segment segment = {
		.size = TEXT_SIZE, .rows = table, .row_count = count};
	struct unwind_backend backend;

	assert_non_null(t);
	assert_true(count <= ARRAY_SIZE(table));
	t->memory.read = golden_read;
	backend = memory_backend(&t->memory);
	t->space = unwind_space_new(&backend.chunks);
	assert_non_null(t->space);
	for (size_t i = 0; i < count; i++) {
		table[i] = (struct cfi_row){.vaddr = rows[i].at, .rule = (uint32_t)i};
		numbers[i] = (uint16_t)(rows[i].rule.cfa == UNWIND_CFA_NONE ? UNWIND_RULE_NONE
									    : 100 + i);
		t->memory.rules[numbers[i]] = rows[i].rule;
	}
	assert_int_equal(unwind_pages_write(t->space, &segment, numbers, &t->pages), 0);
	golden_set(t);
	*tables = t;
	return 0;
}

static inline int golden_tear_down(void **tables)
{
	struct golden_tables *t = *tables;

	unwind_space_give(t->space, t->set, GOLDEN_SET_WORDS);
	unwind_pages_free(t->space, &t->pages);
	assert_int_equal(unwind_space_used(t->space), 0);
	unwind_space_free(t->space);
	free(t);
	return 0;
}

/* Twice, the second time from what the first has left in the cache. */
static inline void golden_check(struct golden_tables *t, const struct golden *golden)
{
	struct unwind_state *state = calloc(1, sizeof(*state));
	struct stack_event event;
	uint64_t hash = 0;

	assert_non_null(state);
	golden_case = golden;
	t->memory.not_code = golden->not_code;
	state->memory = &t->memory;
	state->target_id = GOLDEN_TARGET;
	state->max_frames = golden->max_frames ? golden->max_frames : ABI_MAX_FRAMES;
	for (int round = 0; round < 2; round++) {
		uint32_t i;

		state->regs = golden->regs;
		memory_walk(state, &event);
		for (i = 0; i < event.frame_count && i < MAX_GOLDEN; i++) {
			if (event.frames[i] != golden->frames[i])
				break;
		}
		if (i != event.frame_count || (i < MAX_GOLDEN && golden->frames[i]) ||
		    event.end != golden->end) {
			print_error("%s: %u frames, end %d\n", golden->name, event.frame_count,
				    event.end);
			for (i = 0; i < event.frame_count; i++)
				print_error("  %#llx\n", (unsigned long long)event.frames[i]);
			fail();
		}
		if (round)
			assert_int_equal(state->hash, hash);
		hash = state->hash;
	}
	free(state);
}

static inline void golden_test_cases(void **tables)
{
	for (size_t i = 0; i < golden_program.case_count; i++)
		golden_check(*tables, &golden_program.cases[i]);
}

/*
 * A walk over what does not deserve to be called a stack ends, whatever is in it, and never repeats
 * a stack pointer for ever.
 */
static inline void golden_test_noise(void **tables)
{
	struct golden_tables *t = *tables;
	const struct golden_row *rows = golden_program.rows;
	const size_t count = golden_program.row_count;
	struct unwind_state *state = calloc(1, sizeof(*state));
	struct golden noise = {.name = "noise"};
	uint64_t seed = 88172645463325252ull;
	struct stack_event event;

	assert_non_null(state);
	golden_case = &noise;
	t->memory.not_code = true;
	state->memory = &t->memory;
	state->target_id = GOLDEN_TARGET;
	state->max_frames = ABI_MAX_FRAMES;
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < WORDS; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			if (seed % 4 == 0)
				noise.stack[i] = SP(seed / 4 % WORDS);
			else if (seed % 4 < 3)
				noise.stack[i] = TEXT + rows[seed / 4 % count].at + seed % 16;
			else
				noise.stack[i] = seed;
		}
		state->regs = (struct unwind_regs){.pc = TEXT + rows[seed % count].at + 1,
						   .sp = SP(0),
						   .fp = SP(seed % 64),
						   .lr = TEXT + rows[seed / 8 % count].at};
		memory_walk(state, &event);
		assert_true(event.frame_count <= ABI_MAX_FRAMES && event.end < STACK_ENDS);
		assert_true(event.end != STACK_END_TRUNCATED ||
			    event.frame_count == ABI_MAX_FRAMES);
	}
	free(state);
}

#endif
