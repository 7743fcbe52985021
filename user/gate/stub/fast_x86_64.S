/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate's code, copied into targets: for each function of an allocator a stub that counts bytes,
 * or looks whether a block is a sample, and goes on to the function. Only samples come to a probe.
 *
 * At a function's entry %rax, %r10, %r11 and the flags are free, as are argument registers that hold
 * no argument. At a probe %rdi is the block, %rsi the size, and (%rsp) the return address of the
 * program's call: CFA = %rsp + 8, all other registers as at the function's entry.
 *
 * Stubs are there in numbers; the tool takes one for each function (struct gate_stub).
 */
#include "user/gate/stub_layout.h"

	.text

/* The thread's slot: %rax + %r11. */
.macro SLOT
	movabs	$GATE_GOLDEN, %r11
	lea	gate_slots(%rip), %rax
	imul	%fs:0x10, %r11
	shr	$(58 - GATE_SLOT_BITS), %r11
	and	$(((1 << GATE_SLOT_BITS) - 1) << 6), %r11d
.endm

/* Not equal: the block in %rdi may be a sample. */
.macro FILTER
	movabs	$GATE_GOLDEN, %rax
	lea	gate_filter(%rip), %r11
	imul	%rdi, %rax
	shr	$(64 - GATE_FILTER_BITS), %rax
	cmpb	$0, (%r11, %rax)
.endm

/*
 * The tool writes another nop there if the kernel likes one better (user/gate/nop.h). GATE_PROBE bytes
 * in one line of 16: the kernel optimises none that crosses a page.
 */
.macro PROBE label
	.p2align 4, , GATE_PROBE - 1
\label:	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
.endm

.macro TABLE kind, entry, undo, room, null=0, allocated=0, reallocated=0, freed=0, kept=0
	.pushsection .table, "a"
	.long	\kind, \entry, \undo, \room, \null, \allocated, \reallocated, \freed, \kept, 0
	.popsection
.endm

.macro UNDO label
	.balign	16
\label:	.fill	GATE_UNDO, 1, 0xcc
.endm

.macro ROOM label
\label:	.fill	GATE_ROOM, 1, 0xcc
.endm

/*
 * The slot at %rax + %r11 is used up: is this call a sample? Then it is made from here, and its block
 * told. The stack is as at the function's entry, where it is 8 off a multiple of 16.
 */
.macro SLOW_ALLOC slow, room, size, probe, posix
\slow:
	push	%rdi
	push	%rsi
	push	%rdx
	push	\size
	sub	$8, %rsp
	lea	(%rax, %r11), %rdi
	mov	%rsp, %rsi
	call	gate_draw
	test	%eax, %eax
	mov	16(%rsp), %rdx
	mov	24(%rsp), %rsi
	mov	32(%rsp), %rdi
	jne	.Lsample\@
	add	$40, %rsp
	jmp	\room
.Lsample\@:
	call	\room
	mov	%rax, (%rsp)
.if \posix
	xor	%edx, %edx
	test	%eax, %eax
	jne	.Lfailed\@
	mov	32(%rsp), %rdi
	mov	(%rdi), %rdx
.Lfailed\@:
	mov	%rdx, %rdi
.else
	mov	%rax, %rdi
.endif
	mov	%rdi, 16(%rsp)
	mov	%rsp, %rsi
	call	gate_insert
	mov	%eax, %ecx
	mov	(%rsp), %rax
	mov	8(%rsp), %rsi
	mov	16(%rsp), %rdi
	add	$40, %rsp
	test	%ecx, %ecx
	je	.Lret\@
	PROBE	\probe
.Lret\@:
	ret
.endm

.macro ALLOC kind, size, posix=0
	.balign	64
.Lentry\@:
.if \kind == GATE_KIND_CALLOC
	mov	%rdi, %rax
	mul	%rsi
	jo	.Lroom\@	/* fails there */
	mov	%rax, %rdx
.endif
	SLOT
	/* Unsigned: an absurd size goes the slow way, and fails there. */
	sub	\size, (%rax, %r11)
	jb	.Lslow\@
	ROOM	.Lroom\@
	SLOW_ALLOC .Lslow\@, .Lroom\@, \size, .Lprobe\@, \posix
	UNDO	.Lundo\@
	TABLE	\kind, .Lentry\@, .Lundo\@, .Lroom\@, allocated=.Lprobe\@
.endm

/* Takes up to three arguments: operator delete's size and alignment. */
.macro FREE
	.balign	64
.Lentry\@:
	FILTER
	jne	.Lslow\@
	ROOM	.Lroom\@
.Lslow\@:
	push	%rdi
	push	%rsi
	push	%rdx
	call	gate_remove
	pop	%rdx
	pop	%rsi
	pop	%rdi
	test	%eax, %eax
	je	.Lroom\@
	PROBE	.Lprobe\@
	jmp	.Lroom\@
	UNDO	.Lundo\@
	TABLE	GATE_KIND_FREE, .Lentry\@, .Lundo\@, .Lroom\@, freed=.Lprobe\@
.endm

/* A sample's end is told before the call. When that fails, that it is there still. */
.macro REALLOC
	.balign	64
.Lentry\@:
	test	%rdi, %rdi
	je	.Lnull\@
	FILTER
	jne	.Lmarked\@
	SLOT
	sub	%rsi, (%rax, %r11)
	jb	.Lslow\@
	ROOM	.Lroom\@
	/* An allocator whose realloc(NULL, size) goes to its malloc counts there: jmp room. */
.Lnull\@:
	.byte	0xe9
	.long	.Lcount\@ - . - 4
.Lcount\@:
	SLOT
	sub	%rsi, (%rax, %r11)
	jb	.Lslow\@
	jmp	.Lroom\@
	SLOW_ALLOC .Lslow\@, .Lroom\@, %rsi, .Lprobe\@, 0

.Lmarked\@:
	push	%rdi
	push	%rsi
	sub	$8, %rsp
	call	gate_remove
	add	$8, %rsp
	pop	%rsi
	pop	%rdi
	test	%eax, %eax
	je	.Lcount\@
	PROBE	.Lfreed\@
	push	%rdi
	push	%rsi
	sub	$24, %rsp
	movl	$0, (%rsp)	/* is a sample again */
	SLOT
	sub	%rsi, (%rax, %r11)
	jae	.Lcall\@
	lea	(%rax, %r11), %rdi
	mov	%rsp, %rsi
	call	gate_draw
	mov	%eax, (%rsp)
	mov	24(%rsp), %rsi
	mov	32(%rsp), %rdi
.Lcall\@:
	call	.Lroom\@
	mov	%rax, 8(%rsp)
	test	%rax, %rax
	je	.Lnothing\@
	xor	%edi, %edi
	cmpl	$0, (%rsp)
	je	.Ldone\@
	mov	%rax, %rdi
	mov	%rsp, %rsi
	call	gate_insert
	mov	%eax, %ecx
	mov	8(%rsp), %rax
	mov	24(%rsp), %rsi
	mov	%rax, %rdi
	add	$40, %rsp
	test	%ecx, %ecx
	je	.Lret\@
	PROBE	.Lagain\@
.Lret\@: ret
.Lnothing\@:
	/* Of size 0 it is freed, and NULL no failure. */
	xor	%edi, %edi
	cmpq	$0, 24(%rsp)
	je	.Ldone\@
	mov	32(%rsp), %rdi
	mov	%rsp, %rsi
	call	gate_insert
	mov	%eax, %ecx
	xor	%eax, %eax
	mov	24(%rsp), %rsi
	mov	32(%rsp), %rdi
	add	$40, %rsp
	test	%ecx, %ecx
	je	.Lret\@
	PROBE	.Lkept\@
	ret
.Ldone\@:
	/* Block 0: only that the call is over. */
	mov	%rsp, %rsi
	call	gate_insert
	mov	8(%rsp), %rax
	add	$40, %rsp
	ret
	UNDO	.Lundo\@
	TABLE	GATE_KIND_REALLOC, .Lentry\@, .Lundo\@, .Lroom\@, .Lnull\@, \
		.Lprobe\@, .Lagain\@, .Lfreed\@, .Lkept\@
.endm

.rept 10
	ALLOC	GATE_KIND_SIZE_1, %rdi
.endr
.rept 6
	ALLOC	GATE_KIND_SIZE_2, %rsi
.endr
.rept 2
	ALLOC	GATE_KIND_CALLOC, %rdx
.endr
.rept 2
	ALLOC	GATE_KIND_POSIX, %rdx, 1
.endr
.rept 3
	REALLOC
.endr
.rept 16
	FREE
.endr

	.section .note.GNU-stack, "", @progbits
