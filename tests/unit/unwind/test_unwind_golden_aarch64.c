// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same for AArch64, on whichever machine the test runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/unwind/table.h"

#ifndef UNWIND_AARCH64
#define UNWIND_AARCH64
#endif
#include "tests/unwind/golden.h"

/* clang-format off */
#define LEAF	   0x0100 /* nothing on the stack, the return address in x30 */
#define FRAME	   0x0200 /* stp x29,x30,[sp,#-48]! */
#define BY_X29	   0x0300 /* stp x29,x30,[sp,#-32]!; mov x29,sp; sub sp,sp,x0: alloca */
#define LR_ONLY	   0x0400 /* str x30,[sp,#-16]! */
#define TRAMPOLINE 0x0500
#define START	   0x0600
#define WITHOUT	   0x0700

static const struct golden_row rows[] = {
	{0,	     {.cfa = UNWIND_CFA_NONE}},
	{LEAF,	     {.cfa = UNWIND_CFA_SP, .ra = UNWIND_RA_LR}},
	{FRAME,	     {.cfa = UNWIND_CFA_SP, .cfa_off = 48, .fp = UNWIND_FP_CFA, .fp_off = -48, .ra_off = -40}},
	{BY_X29,     {.cfa = UNWIND_CFA_FP, .cfa_off = 32, .fp = UNWIND_FP_CFA, .fp_off = -32, .ra_off = -24}},
	{LR_ONLY,    {.cfa = UNWIND_CFA_SP, .cfa_off = 16, .ra_off = -16}},
	{TRAMPOLINE, {.cfa = UNWIND_CFA_SIGNAL}},
	{START,	     {.cfa = UNWIND_CFA_END}},
	{WITHOUT,    {.cfa = UNWIND_CFA_NONE}},
};

#define PC(area)    (TEXT + (area) + 0x20)
#define SIGNED(pc)  ((pc) | 0x002a000000000000ull) /* by pointer authentication, 48 bits of address */
#define CALLED(by)  {.pc = TEXT + LEAF, .sp = SP(0), .lr = (by)}

static const struct golden cases[] = {
	{"x30 at the entry, then frames on the stack", CALLED(PC(FRAME)),
	 .stack = {SP(6), PC(LR_ONLY), 1, 2, 3, 4, PC(START)},
	 .frames = {TEXT + LEAF, PC(FRAME), PC(LR_ONLY), PC(START)}},
	{"signed return addresses, in x30 too", CALLED(SIGNED(PC(FRAME))),
	 .stack = {SP(6), SIGNED(PC(LR_ONLY)), 1, 2, 3, 4, SIGNED(PC(START))},
	 .frames = {TEXT + LEAF, PC(FRAME), PC(LR_ONLY), PC(START)}},
	{"alloca: x29, saved by another function in between, leads on", CALLED(PC(FRAME)),
	 .stack = {SP(9), PC(BY_X29), 0, 0, 0, 0, 1, 2, 3, SP(13), PC(BY_X29), 4, 5, 0, PC(START)},
	 .frames = {TEXT + LEAF, PC(FRAME), PC(BY_X29), PC(BY_X29), PC(START)}},
	/* x29, x30, sp and pc of the frame, behind the siginfo; what was interrupted is a leaf, and x30 is its return address. */
	{"a signal handler", CALLED(PC(FRAME)),
	 .stack = {0, PC(TRAMPOLINE), [6 + 39 + 29] = SP(90), [6 + 39 + 30] = SIGNED(PC(BY_X29)), [6 + 39 + 31] = SP(85),
		   [6 + 39 + 32] = TEXT + LEAF, [90] = 0, PC(START)},
	 .frames = {TEXT + LEAF, PC(FRAME), PC(TRAMPOLINE), TEXT + LEAF, PC(BY_X29), PC(START)}},
	{"code made at run time: by x29", {.pc = TEXT + LEAF, .sp = SP(0), .fp = SP(2), .lr = JIT + 0x104},
	 .stack = {1, 2, SP(5), JIT + 0x204, 3, 0, PC(LR_ONLY), PC(START)},
	 .frames = {TEXT + LEAF, JIT + 0x104, JIT + 0x204, PC(LR_ONLY), PC(START)}},
	{"an allocator without rows: its caller is in x30", {.pc = TEXT + WITHOUT, .sp = SP(0), .lr = PC(LR_ONLY)},
	 .stack = {PC(START)}, .frames = {TEXT + WITHOUT, PC(LR_ONLY), PC(START)}},
	/* It has made a call, so x30 was overwritten: the table does not belong to this code. */
	{"x30 of a function that is not the innermost", CALLED(PC(LEAF)),
	 .frames = {TEXT + LEAF, PC(LEAF)}, .end = STACK_END_BAD_PC},
	{"x29 was overwritten: the stack would not grow", {.pc = TEXT + LEAF, .sp = SP(8), .fp = SP(2), .lr = PC(BY_X29)},
	 .frames = {TEXT + LEAF, PC(BY_X29)}, .end = STACK_END_BAD_CFA},
	{"the stack ends in the middle of a frame", CALLED(PC(FRAME)), .stack_words = 1,
	 .frames = {TEXT + LEAF, PC(FRAME)}, .end = STACK_END_READ_FAULT},
	{"zeros end a stack", CALLED(PC(LR_ONLY)), .frames = {TEXT + LEAF, PC(LR_ONLY)}},
};
/* clang-format on */

/* bl before the return addresses that only a frame pointer vouches for. */
static const uint8_t code[TEXT_SIZE] = {[0x103] = 0x94, [0x203] = 0x94, [LR_ONLY + 0x1f] = 0x94};

const struct golden_program golden_program = {
	.code = code,
	.rows = rows,
	.row_count = ARRAY_SIZE(rows),
	.cases = cases,
	.case_count = ARRAY_SIZE(cases),
};

/*
 * The kernel's vdso has no rows: a handler returns to code that is recognised, and the entry point
 * of 0 that the file names is none.
 */
static void test_vdso(void **state)
{
	static const uint32_t trampoline[] = {0xd2801168, 0xd4000001}; /* mov x8, #139; svc #0 */
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		uint32_t nops[32], code[2];
	} file = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_AARCH64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_filesz = sizeof(file),
			    .p_memsz = sizeof(file)},
	};
	const uint64_t at = sizeof(file) - sizeof(file.code);
	struct unwind_table *table = NULL;
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(file.nops) / sizeof(file.nops[0]); i++)
		file.nops[i] = 0xd503201f;
	memcpy(file.code, trampoline, sizeof(trampoline));
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(unwind_table_read(fd, -1, (char[REASON_MAX]){0}, &table), 0);
	assert_int_equal(unwind_table_find(table, 0), UNWIND_RULE_NONE);
	assert_int_equal(unwind_table_find(table, at - 2), UNWIND_RULE_NONE);
	/* Looked up one byte earlier, like every address that is returned to. */
	assert_int_equal(unwind_table_find(table, at - 1), UNWIND_RULE_SIGNAL);
	assert_int_equal(unwind_table_find(table, at), UNWIND_RULE_SIGNAL);
	unwind_table_free(table);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_test_cases),
		cmocka_unit_test(golden_test_noise),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
