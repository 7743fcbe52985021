/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The call-frame information of the gate's code, beside what the stack pointer really is: calls are
 * made one instruction at a time.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_STEPPED_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_STEPPED_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/unit/gate/in_process.h"

static struct {
	struct {
		uint64_t pc, sp;
	} at[1 << 16]; /* in the gate's code */
	size_t count;
} steps;

static void stepped(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	uint64_t pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (pc - (uintptr_t)gate.code >= GATE_CODE_SIZE || steps.count == ARRAY_SIZE(steps.at))
		return;
	steps.at[steps.count].pc = pc - (uintptr_t)gate.code;
	steps.at[steps.count++].sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
}

/* From here on; below the red zone. */
#define STEP(change)                                                                        \
	__asm__ volatile("lea -128(%%rsp),%%rsp; pushfq; " change " $0x100,(%%rsp); popfq;" \
			 "lea 128(%%rsp),%%rsp" ::                                          \
				 : "memory", "cc")
#define STEP_ON()  STEP("orq")
#define STEP_OFF() STEP("xorq")

static void steps_begin(void)
{
	struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};

	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	steps.count = 0;
}

/* A place that holds another function's instructions, or the test's own. */
static bool step_is_foreign(uint64_t pc)
{
	for (size_t i = 0; i < gate.count; i++) {
		const struct gate_stub *stub = gate.functions[i].stub;

		if (pc - stub->room < GATE_ROOM || pc - stub->undo < 2 * GATE_UNDO ||
		    (stub->instead && pc - stub->instead < DISPLACE_JUMP))
			return true;
	}
	return pc >= GATE_CODE_SIZE - 0x100;
}

/* Of a stub, not of what stubs call: that has frames of its own. */
static bool step_is_stub(uint64_t pc)
{
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);

	return pc >= stubs[0].entry && pc < stubs[count - 1].undo;
}

static bool step_is_entry(uint64_t pc)
{
	for (size_t i = 0; i < gate.count; i++) {
		const struct gate_stub *stub = gate.functions[i].stub;

		if (pc == stub->entry || pc == stub->nesting || pc == stub->exact)
			return true;
	}
	return false;
}

/* What is said of the stack pointer's distance to the call frame's address. */
static int64_t step_distance(Dwarf_CFI *cfi, uint64_t pc)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t count;
	int64_t distance;

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		fail_msg("nothing is said of %lx", (unsigned long)pc);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(ops[0].atom, DW_OP_bregx);
	assert_int_equal(ops[0].number, 7); /* %rsp */
	distance = (int64_t)ops[0].number2;
	free(frame);
	return distance;
}

/* Each instruction of the gate's that was stepped over knew where its caller's frame is. */
static void steps_end(void)
{
	uint64_t entered[16];
	size_t size, depth = 0, looked_at = 0;
	const uint8_t *code = gate_code(&size);
	int64_t distance;
	Dwarf_CFI *cfi;
	Elf *elf;

	signal(SIGTRAP, SIG_DFL);
	assert_true(steps.count < ARRAY_SIZE(steps.at));
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)(uintptr_t)code, size);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (size_t i = 0; i < steps.count; i++) {
		uint64_t pc = steps.at[i].pc, sp = steps.at[i].sp;

		/* What has returned. */
		while (depth && entered[depth - 1] < sp)
			depth--;
		if (step_is_entry(pc) && !(depth && entered[depth - 1] == sp)) {
			assert_true(depth < ARRAY_SIZE(entered));
			entered[depth++] = sp;
		}
		if (step_is_foreign(pc))
			continue;
		assert_true(depth > 0);
		distance = step_distance(cfi, pc);
		if (step_is_stub(pc) && sp + (uint64_t)distance != entered[depth - 1] + 8)
			fail_msg("at %lx: %ld instead of %ld", (unsigned long)pc, (long)distance,
				 (long)(entered[depth - 1] + 8 - sp));
		looked_at++;
	}
	assert_true(looked_at > 100);
	print_message("  %zu instructions stepped over\n", looked_at);
	elf_end(elf);
}

#endif
