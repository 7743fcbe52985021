// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The unwinder over stacks written down by hand, x86-64: what each kind of frame looks like and how
 * walks end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Which machine's stacks these are has nothing to do with the one that the test runs on. */
#undef UNWIND_AARCH64
#include "tests/unwind/golden.h"

/* clang-format off */
#define RULE_SP(off) {.cfa = UNWIND_CFA_SP, .cfa_off = (off), .ra_off = -8}

#define ENTRY	   0x0100 /* at its entry nothing has been pushed */
#define FRAME	   0x0200 /* sub $24,%rsp */
#define SAVES_RBP  0x0300 /* push %rbp; sub $8,%rsp; uses it as any register */
#define BY_RBP	   0x0400 /* push %rbp; mov %rsp,%rbp: alloca */
#define REALIGNED  0x0500 /* and $-64,%rsp: the CFA is in memory below rbp */
#define PLT	   0x0600
#define TRAMPOLINE 0x0700
#define START	   0x0800
#define COMPUTED   0x0900 /* an expression that no rule can say */
#define WITHOUT	   0x0a00 /* no rows */
#define SP_DEREF   0x0b00 /* the old rsp was pushed */
#define VFORK	   0x0c00 /* vfork itself: the return address waits in a register */
#define FAR_PAGE   0x10200 /* in the second page of the table */

static const struct golden_row rows[] = {
	{0,	     {.cfa = UNWIND_CFA_NONE}},
	{ENTRY,	     RULE_SP(8)},
	{FRAME,	     RULE_SP(32)},
	{SAVES_RBP,  {.cfa = UNWIND_CFA_SP, .cfa_off = 24, .fp = UNWIND_FP_CFA, .fp_off = -16, .ra_off = -8}},
	{BY_RBP,     {.cfa = UNWIND_CFA_FP, .cfa_off = 16, .fp = UNWIND_FP_CFA, .fp_off = -16, .ra_off = -8}},
	{REALIGNED,  {.cfa = UNWIND_CFA_FP_DEREF, .cfa_off = -8, .fp = UNWIND_FP_FP, .fp_off = 0, .ra_off = -8}},
	{PLT,	     {.cfa = UNWIND_CFA_PLT, .cfa_off = 8, .cfa_add = 11, .ra_off = -8}},
	{TRAMPOLINE, {.cfa = UNWIND_CFA_SIGNAL}},
	{START,	     {.cfa = UNWIND_CFA_END}},
	{COMPUTED,   {.cfa = UNWIND_CFA_UNSUPPORTED}},
	{WITHOUT,    {.cfa = UNWIND_CFA_NONE}},
	{SP_DEREF,   {.cfa = UNWIND_CFA_SP_DEREF, .cfa_off = 16, .cfa_add = 8, .ra_off = -8}},
	{VFORK,	     {.cfa = UNWIND_CFA_UNSUPPORTED}},
	{0xd00,	     {.cfa = UNWIND_CFA_NONE}},
	{FAR_PAGE,   RULE_SP(16)},
	{0x10300,    {.cfa = UNWIND_CFA_NONE}},
};

/* Return addresses, and the pc that malloc's probe sees. */
#define PC(area) (TEXT + (area) + 0x20)
#define ENTERED {.pc = TEXT + ENTRY, .sp = SP(0)}

static const struct golden cases[] = {
	{"frames of fixed size, over two pages of the table", ENTERED,
	 .stack = {PC(FRAME), 0, 0, 0, PC(FAR_PAGE), 0, PC(FRAME) + 1, 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(FRAME), PC(FAR_PAGE), PC(FRAME) + 1, PC(START)}},
	{"alloca: rbp, saved by another function in between, leads on", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = 12345},
	 .stack = {PC(SAVES_RBP), 0, SP(9), PC(BY_RBP), 1, 2, 3, 4, 5, SP(13), PC(BY_RBP), 6, 7, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(SAVES_RBP), PC(BY_RBP), PC(BY_RBP), PC(START)}},
	{"a realigned stack", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = SP(6)},
	 .stack = {PC(REALIGNED), 1, 2, 3, 4, SP(12), 777, 5, 6, 7, 8, PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(REALIGNED), PC(FRAME), PC(START)}},
	{"rsp from the stack", ENTERED,
	 .stack = {PC(SP_DEREF), 1, 2, SP(6), 3, 4, PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(SP_DEREF), PC(FRAME), PC(START)}},
	{"a lazy PLT entry before its push", {.pc = TEXT + PLT + 10, .sp = SP(0)},
	 .stack = {PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + PLT + 10, PC(FRAME), PC(START)}},
	{"a lazy PLT entry after it", {.pc = TEXT + PLT + 16 + 11, .sp = SP(0)},
	 .stack = {4711, PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + PLT + 16 + 11, PC(FRAME), PC(START)}},
	/* B jumped to malloc after its own frame was gone: it left nothing to find, and A called B. */
	{"a tail call", ENTERED,
	 .stack = {PC(FRAME), PC(FRAME) + 5, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(FRAME), PC(START)}},
	/* The last instruction is a call that does not return: the return address is another function's first byte. */
	{"a call at a function's very end", ENTERED,
	 .stack = {TEXT + SAVES_RBP, 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, TEXT + SAVES_RBP, PC(START)}},
	/* Registers in the frame: rbp at 120, rsp at 160, rip at 168. What was interrupted is at FRAME's first byte, not after a call. */
	{"a signal handler on the same stack", ENTERED,
	 .stack = {PC(FRAME), 0, 0, 0, PC(TRAMPOLINE), [5 + 15] = SP(40), [5 + 20] = SP(30), [5 + 21] = TEXT + FRAME,
		   [33] = PC(BY_RBP), [40] = 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(FRAME), PC(TRAMPOLINE), TEXT + FRAME, PC(BY_RBP), PC(START)}},
	{"a signal handler on an alternate stack above the other", ENTERED,
	 .stack = {PC(TRAMPOLINE), [1 + 20] = ALT(2), [1 + 21] = TEXT + ENTRY},
	 .other = {[2] = PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(TRAMPOLINE), TEXT + ENTRY, PC(FRAME), PC(START)}},
	/* The child runs on its parent's stack, below the frame that called vfork. */
	{"the child of a vfork", ENTERED,
	 .stack = {PC(FRAME), 0, 0, 0, PC(SAVES_RBP), 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(FRAME), PC(SAVES_RBP), PC(START)}},
	{"in the middle of vfork", ENTERED, .stack = {PC(VFORK)},
	 .frames = {TEXT + ENTRY, PC(VFORK)}, .end = STACK_END_UNSUPPORTED},
	{"an expression beyond the rules", ENTERED, .stack = {PC(COMPUTED)},
	 .frames = {TEXT + ENTRY, PC(COMPUTED)}, .end = STACK_END_UNSUPPORTED},
	{"code made at run time: by rbp, as far as that leads to code", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = SP(3)},
	 .stack = {JIT + 0x105, 1, 2, SP(6), JIT + 0x205, 5, 0, PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, JIT + 0x105, JIT + 0x205, PC(FRAME), PC(START)}},
	{"code made at run time, rbp used otherwise", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = 3},
	 .stack = {JIT + 0x105}, .frames = {TEXT + ENTRY, JIT + 0x105}, .end = STACK_END_NO_ROWS},
	{"code made at run time, rbp from long ago", {.pc = TEXT + ENTRY, .sp = SP(1), .fp = SP(0)},
	 .stack = {0, JIT + 0x105}, .frames = {TEXT + ENTRY, JIT + 0x105}, .end = STACK_END_NO_ROWS},
	/* It is where nobody called from. */
	{"a coroutine's first frame", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = SP(3)},
	 .stack = {PC(FRAME), 0, 0, 0, TEXT + WITHOUT + 0x50, SP(9), 1},
	 .frames = {TEXT + ENTRY, PC(FRAME), TEXT + WITHOUT + 0x50}},
	{"the return address was overwritten by data", ENTERED, .not_code = true,
	 .stack = {PC(FRAME), 0, 0, 0, 0x4141414141414141},
	 .frames = {TEXT + ENTRY, PC(FRAME)}, .end = STACK_END_BAD_PC},
	{"the return address is in a library that nobody knows yet", ENTERED,
	 .stack = {PC(FRAME), 0, 0, 0, 0x7f0000001234},
	 .frames = {TEXT + ENTRY, PC(FRAME), 0x7f0000001234}, .end = STACK_END_NO_MAPPING},
	{"rbp was overwritten: the stack would not grow", {.pc = TEXT + ENTRY, .sp = SP(8), .fp = SP(2)},
	 .stack = {[8] = PC(BY_RBP)}, .frames = {TEXT + ENTRY, PC(BY_RBP)}, .end = STACK_END_BAD_CFA},
	{"rbp was overwritten: no memory there", {.pc = TEXT + ENTRY, .sp = SP(0), .fp = 0xdead0000dead0000},
	 .stack = {PC(BY_RBP)}, .frames = {TEXT + ENTRY, PC(BY_RBP)}, .end = STACK_END_READ_FAULT},
	{"the stack ends in the middle of a frame", ENTERED, .stack_words = 4,
	 .stack = {PC(FRAME)}, .frames = {TEXT + ENTRY, PC(FRAME)}, .end = STACK_END_READ_FAULT},
	{"no stack at all", {.pc = TEXT + ENTRY, .sp = 0x1000},
	 .frames = {TEXT + ENTRY}, .end = STACK_END_READ_FAULT},
	{"zeros end a stack", ENTERED, .stack = {PC(FRAME)}, .frames = {TEXT + ENTRY, PC(FRAME)}},
	{"deeper than is asked for", ENTERED, .max_frames = 2,
	 .stack = {PC(FRAME), 0, 0, 0, PC(START)},
	 .frames = {TEXT + ENTRY, PC(FRAME)}, .end = STACK_END_TRUNCATED},
};
/* clang-format on */

/*
 * call rel32 before the return addresses that only a frame pointer vouches for, or nothing;
 * elsewhere nobody looks.
 */
static const uint8_t code[TEXT_SIZE] = {[0x100] = 0xe8, [0x200] = 0xe8, [FRAME + 0x1b] = 0xe8};

const struct golden_program golden_program = {
	.code = code,
	.rows = rows,
	.row_count = ARRAY_SIZE(rows),
	.cases = cases,
	.case_count = ARRAY_SIZE(cases),
};

/*
 * While more has been mapped than could be marked in the set, it is not used; nor is a part of it
 * that has been marked.
 */
static void test_distrust(void **state)
{
	struct golden_tables *t = *state;
	struct unwind_target *target = &t->memory.targets[GOLDEN_TARGET];
	struct golden unknown = {"a set not to be trusted",
				 {.pc = TEXT + ENTRY, .sp = SP(0)},
				 .stack = {PC(START)},
				 .frames = {TEXT + ENTRY},
				 .end = STACK_END_NO_MAPPING};

	target->unmarked++;
	target->generation++;
	golden_check(t, &unknown);
	target->valid_from = target->unmarked;
	unknown.frames[1] = PC(START);
	unknown.end = STACK_END_COMPLETE;
	golden_check(t, &unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_test_cases),
		cmocka_unit_test(golden_test_noise),
		cmocka_unit_test(test_distrust),
	};

	return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
