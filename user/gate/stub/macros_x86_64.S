/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the assembler of code that is copied into targets: the gate's, and the guards' (user/guard/stub). */
#ifndef MEMLEAKBPF_GATE_STUB_MACROS_X86_64_H
#define MEMLEAKBPF_GATE_STUB_MACROS_X86_64_H

#include "user/gate/stub_layout.h"

/* The stack pointer, with what that means to unwinders. */
.macro SAVE what
	push	\what
	.cfi_adjust_cfa_offset 8
.endm
.macro RESTORE what
	pop	\what
	.cfi_adjust_cfa_offset -8
.endm
.macro TAKE_STACK bytes
	sub	$\bytes, %rsp
	.cfi_adjust_cfa_offset \bytes
.endm
.macro GIVE_STACK bytes
	add	$\bytes, %rsp
	.cfi_adjust_cfa_offset -(\bytes)
.endm

/*
 * The tool writes another nop there if the kernel likes one better (user/gate/nop.h). GATE_PROBE bytes
 * in one line of 16: the kernel optimises none that crosses a page.
 */
.macro PROBE label
	.p2align 4, , GATE_PROBE - 1
\label:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
.endm

/* Other functions' instructions, of which nothing is known here. */
.macro ROOM label
	.cfi_endproc
\label:	.fill	GATE_ROOM, 1, 0xcc
	.cfi_startproc
.endm

#endif
