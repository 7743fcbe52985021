/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What code that is copied into targets calls, in a test, where a target has a nop for a probe. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_HOOK_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_HOOK_H

/* It is called from within malloc: no memory, no vector registers. */
#define BOOKED __attribute__((target("general-regs-only"), used))

/* Called as the kernel would trap: nothing changes for the code around. */
#define HOOK(name, function)                                                       \
	void name(void);                                                           \
	__asm__(".pushsection .text\n" #name ":\n"                                 \
		"push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"          \
		"push %r8; push %r9; push %r10; push %r11; push %rbp\n"            \
		"mov %rsp, %rbp; and $-16, %rsp\n"                                 \
		"call " #function "\n"                                             \
		"mov %rbp, %rsp; pop %rbp; pop %r11; pop %r10; pop %r9; pop %r8\n" \
		"pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax; ret\n"          \
		".popsection\n")

#endif
