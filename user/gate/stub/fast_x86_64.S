/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate's code, copied into targets: for each function of an allocator a stub that counts bytes,
 * or looks whether a block is a sample, and goes on to the function. Only samples come to a probe; by
 * the exact entries every call does.
 *
 * At a function's entry %rax, %r10, %r11 and the flags are free, as are argument registers that hold
 * no argument; a stub keeps three of those. At a probe %rdi is the block, %rsi the size, %r8 of a sample its level, and (%rsp)
 * the return address of the program's call: CFA = %rsp + 8, callee-saved registers as at the function's entry. A probe changes no
 * register.
 *
 * Functions of an allocator call each other: realloc(NULL) may go to malloc's first instruction,
 * posix_memalign to memalign's. Only the outermost is counted and told: the inner one's block may be
 * another one (musl's aligned_alloc gives a place inside of what its malloc gave). While a function
 * is called from a stub, `inside` of the thread's own slot is the stack pointer at its entry, and a
 * stub that is reached further down the stack goes straight to its function. A function that may call
 * others is called from its stub even where it is no sample (`nesting`), which costs it some 2 ns;
 * one that calls no other is jumped to (`entry`).
 *
 * A function out of which an exception may come is never called from a stub: without call-frame
 * information the unwinder would end the program. Where a call is to be made from the stub, it is
 * malloc's (`instead`), and where that has no memory the function itself is jumped to, which calls the
 * new handler and throws from the program's own frame.
 *
 * Stubs are there in numbers; the tool takes one for each function (struct gate_stub).
 *
 * The code is a shared object, with call-frame information for all but rooms and what undoes first
 * instructions. The target's own unwinder does not know of it; elfutils finds it in the memory of the
 * process, and gdb by add-symbol-file-from-memory.
 */
#include "user/gate/stub_layout.h"
#include "user/gate/stub/macros_x86_64.S"

	.text
	.globl	memleakbpf_gate
	.type	memleakbpf_gate, @function
memleakbpf_gate:
	.hidden	gate_header, gate_slots, gate_filter, gate_set

/* The slot in which the thread counts: %rax + %r11. */
.macro SLOT
	movabs	$GATE_GOLDEN, %r11
	lea	gate_slots(%rip), %rax
	imul	%fs:0x10, %r11
	shr	$(58 - GATE_SLOT_BITS), %r11
	and	$(((1 << GATE_SLOT_BITS) - 1) << 6), %r11d
.endm

/* The same in %rax, and in %r10 the slot that is the thread's alone: nearly always that one. */
.macro OWN_SLOT
	add	%r11, %rax
	mov	%fs:0x10, %r11
	mov	%rax, %r10
	cmp	%r11, GATE_SLOT_THREAD(%rax)
	je	.Lown\@
	call	own_slot
.Lown\@:
.endm

/* Marks the thread as inside of an allocator; if it is already, on to `room`. */
.macro MARK_INSIDE room
	cmp	%rsp, GATE_SLOT_INSIDE(%r10)
	ja	\room
	mov	%rsp, GATE_SLOT_INSIDE(%r10)
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
 * As near to the probe as can be: a handler may have forked, and in a child the gate is off. A probe
 * there would be its end: the kernel's copy of an optimised one calls what the child has not. What
 * goes before it touches memory, where a signal is most likely to come in.
 */
.macro UNLESS_OFF off
	cmpq	$0, gate_header(%rip)
	je	\off
.endm

.macro TABLE kind, entry, nesting, exact, undo, room, instead=0, allocated=0, freed=0, kept=0
	.pushsection .table, ""
	.long	\kind, \entry, \nesting, \exact, \undo, \undo + GATE_UNDO, \room, \instead
	.long	\allocated, \freed, \kept, 0
	.popsection
.endm

/* Two: on to the sampled entry, and to the exact one. */
.macro UNDO label
	.cfi_endproc
	.balign	16
\label:	.fill	2 * GATE_UNDO, 1, 0xcc
.endm

/* calloc's product; what overflows fails in the function. A third argument stays (an alignment). */
.macro PRODUCT kind, room
.if \kind == GATE_KIND_CALLOC
	mov	%rdi, %rcx
	imul	%rsi, %rcx
	jo	\room
.endif
.endm

/* reallocarray's: what overflows is too large, and fails. Its arguments stay. */
.macro RESIZE_PRODUCT kind
.if \kind == GATE_KIND_REALLOC_ARRAY
	mov	%rsi, %rcx
	imul	%rdx, %rcx
	jno	.Lproduct\@
	mov	$-1, %rcx
.Lproduct\@:
.endif
.endm

/* Calls the function, or what takes the place of one that may throw. */
.macro MAKE_CALL kind, room, instead
.if \kind == GATE_KIND_NEW_ALIGNED
	xchg	%rdi, %rsi	/* memalign's order */
.endif
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
	call	\instead
.else
	call	\room
.endif
.endm

/*
 * The slot at %rax + %r11 is used up: is this call a sample? Then it is made from here, and its block
 * told. The stack is as at the function's entry, where it is 8 off a multiple of 16. struct gate_call
 * is at its top: GATE_CALL_SIZE bytes, then the result, the size and the arguments.
 */
#define RESULT	(GATE_CALL_SIZE)
#define SIZE_AT (GATE_CALL_SIZE + 8)
#define THIRD	(GATE_CALL_SIZE + 16)
#define SECOND	(GATE_CALL_SIZE + 24)
#define FIRST	(GATE_CALL_SIZE + 32)
#define FRAME	(GATE_CALL_SIZE + 40)

.macro ARGUMENTS
	mov	THIRD(%rsp), %rdx
	mov	SECOND(%rsp), %rsi
	mov	FIRST(%rsp), %rdi
.endm

.macro SLOW_ALLOC kind, slow, room, size, probe, instead
\slow:
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	SAVE	\size
	TAKE_STACK	(GATE_CALL_SIZE + 8)
	lea	(%rax, %r11), %rdi
	mov	%rsp, %rsi
	call	gate_draw
	test	%eax, %eax
	ARGUMENTS
	jne	.Lsample\@
.Lplain\@:
	.cfi_remember_state
	GIVE_STACK	FRAME
	jmp	\room
	.cfi_restore_state
.Lsample\@:
	MAKE_CALL \kind, \room, \instead
	mov	%rax, RESULT(%rsp)
	mov	%rax, %rdi
.if \kind == GATE_KIND_POSIX
	xor	%edi, %edi
	test	%eax, %eax
	jne	.Lfailed\@
	mov	FIRST(%rsp), %rdi
	mov	(%rdi), %rdi
.Lfailed\@:
.endif
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
	mov	%rsp, %rsi
	call	gate_insert
	mov	RESULT(%rsp), %rdi
	test	%rdi, %rdi
	jne	.Lmade\@
	ARGUMENTS
	jmp	.Lplain\@
.Lmade\@:
.else
	mov	%rdi, FIRST(%rsp)
	mov	%rsp, %rsi
	call	gate_insert
	mov	FIRST(%rsp), %rdi
.endif
	mov	%eax, %ecx
	mov	RESULT(%rsp), %rax
	mov	SIZE_AT(%rsp), %rsi
	mov	GATE_CALL_LEVEL(%rsp), %r8
	GIVE_STACK	FRAME
	test	%ecx, %ecx
	je	.Lret\@
	UNLESS_OFF .Lret\@
	PROBE	\probe
.Lret\@:
	ret
.endm

/* Counted, and no sample: called, with the count put back to what it is now. */
.macro NESTING_CALL kind, room, instead
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	TAKE_STACK	8
.endif
	SAVE	(%rax)
	SAVE	%rax
	SAVE	%r10
	MAKE_CALL \kind, \room, \instead
	RESTORE	%rcx
	movq	$0, GATE_SLOT_INSIDE(%rcx)
	RESTORE	%rcx
	RESTORE	(%rcx)
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
	GIVE_STACK	8
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	test	%rax, %rax
	je	\room
.endif
	ret
.endm

.macro EXACT_ALLOC kind, exact, room, size, probe, instead
\exact:
	cmpq	$0, gate_header(%rip)
	je	\room
	PRODUCT \kind, \room
	SLOT
	OWN_SLOT
	MARK_INSIDE \room
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	SAVE	\size
	SAVE	%r10
	MAKE_CALL \kind, \room, \instead
	mov	%rax, %r11
	RESTORE	%r10
	movq	$0, GATE_SLOT_INSIDE(%r10)
	RESTORE	%r10
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
	test	%r11, %r11
	je	\room
.endif
.if \kind == GATE_KIND_POSIX
	test	%r11d, %r11d
	jne	.Lret\@
	mov	(%rdi), %rdi
.else
	mov	%r11, %rdi
.endif
	mov	%r10, %rsi
	test	%rdi, %rdi
	je	.Lret\@
	cmpq	$0, gate_header(%rip)
	jne	\probe
.Lret\@:
	ret
.endm

.macro ALLOC kind, size
	.balign	64
	.cfi_startproc
.Lentry\@:
	PRODUCT \kind, .Lroom\@
	SLOT
	/* Unsigned: an absurd size goes the slow way, and fails there. */
	sub	\size, (%rax, %r11)
	jb	.Lslow\@
	ROOM	.Lroom\@
.Lnesting\@:
	PRODUCT \kind, .Lroom\@
	SLOT
	sub	\size, (%rax, %r11)
	jb	.Lslow\@
	OWN_SLOT
	MARK_INSIDE .Lroom\@
	NESTING_CALL \kind, .Lroom\@, .Linstead\@
	SLOW_ALLOC \kind, .Lslow\@, .Lroom\@, \size, .Lprobe\@, .Linstead\@
	EXACT_ALLOC \kind, .Lexact\@, .Lroom\@, \size, .Lprobe\@, .Linstead\@
	UNDO	.Lundo\@
.if \kind == GATE_KIND_NEW || \kind == GATE_KIND_NEW_ALIGNED
.Linstead\@: .fill 5, 1, 0xcc
	TABLE	\kind, .Lentry\@, .Lnesting\@, .Lexact\@, .Lundo\@, .Lroom\@, .Linstead\@, \
		allocated=.Lprobe\@
.else
	TABLE	\kind, .Lentry\@, .Lnesting\@, .Lexact\@, .Lundo\@, .Lroom\@, \
		allocated=.Lprobe\@
.endif
.endm

/*
 * Takes up to three arguments: operator delete's size and alignment. The sampled entry needs no mark
 * for functions that free calls: the sample is gone from the set.
 */
.macro FREE
	.balign	64
	.cfi_startproc
.Lentry\@:
	FILTER
	jne	.Lslow\@
	ROOM	.Lroom\@
.Lslow\@:
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	call	gate_remove
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	test	%eax, %eax
	je	.Lroom\@
	UNLESS_OFF .Lroom\@
	/* %eax: by the sampled entry? */
	PROBE	.Lprobe\@
	test	%eax, %eax
	jne	.Lroom\@
	mov	%rsp, GATE_SLOT_INSIDE(%r10)
	SAVE	%r10
	call	.Lroom\@
	RESTORE	%rcx
	movq	$0, GATE_SLOT_INSIDE(%rcx)
	ret
.Lexact\@:
	test	%rdi, %rdi
	je	.Lroom\@
	SLOT
	OWN_SLOT
	cmp	%rsp, GATE_SLOT_INSIDE(%r10)
	ja	.Lroom\@
	UNLESS_OFF .Lroom\@
	xor	%eax, %eax
	jmp	.Lprobe\@
	UNDO	.Lundo\@
	TABLE	GATE_KIND_FREE, .Lentry\@, .Lentry\@, .Lexact\@, .Lundo\@, .Lroom\@, \
		freed=.Lprobe\@
.endm

/*
 * The block's end is told before the call: afterwards it may be another thread's. When the call fails,
 * that the block is there still.
 */
.macro REALLOC kind, size
	.balign	64
	.cfi_startproc
.Lentry\@:
	FILTER
	jne	.Lmarked\@
.Lcount\@:
	RESIZE_PRODUCT \kind
	SLOT
	sub	\size, (%rax, %r11)
	jb	.Lslow\@
	OWN_SLOT
	MARK_INSIDE .Lroom\@
	NESTING_CALL \kind, .Lroom\@, 0
	ROOM	.Lroom\@
	SLOW_ALLOC \kind, .Lslow\@, .Lroom\@, \size, .Lprobe\@, 0

.Lmarked\@:
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	call	gate_remove
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	test	%eax, %eax
	je	.Lcount\@
	UNLESS_OFF .Lroom\@
	RESIZE_PRODUCT \kind
	/* %eax: by the sampled entry? */
	PROBE	.Lfreed\@
	test	%eax, %eax
	je	.Lended\@
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	SAVE	\size
	TAKE_STACK	(GATE_CALL_SIZE + 8)
	mov	%rsp, %rdi
	mov	SIZE_AT(%rsp), %rsi
	call	gate_count
	ARGUMENTS
	call	.Lroom\@
	mov	%rax, RESULT(%rsp)
	mov	%rax, %rdi
	mov	FIRST(%rsp), %rsi
	mov	SIZE_AT(%rsp), %rdx
	mov	%rsp, %rcx
	call	gate_reinsert
	mov	%eax, %ecx
	mov	RESULT(%rsp), %rax
	mov	%rax, %rdi
	mov	FIRST(%rsp), %rdx
	mov	SIZE_AT(%rsp), %rsi
	mov	GATE_CALL_LEVEL(%rsp), %r8
	GIVE_STACK	FRAME
	test	%ecx, %ecx
	je	.Lret\@
	jmp	.Ltell\@

.Lexact\@:
	SLOT
	OWN_SLOT
	cmp	%rsp, GATE_SLOT_INSIDE(%r10)
	ja	.Lroom\@
	UNLESS_OFF .Lroom\@
	RESIZE_PRODUCT \kind
	xor	%eax, %eax
	test	%rdi, %rdi
	jne	.Lfreed\@
.Lended\@:
	mov	%rsp, GATE_SLOT_INSIDE(%r10)
	SAVE	%rdi
	SAVE	\size
	SAVE	%r10
	call	.Lroom\@
	mov	%rax, %rdi
	RESTORE	%r10
	movq	$0, GATE_SLOT_INSIDE(%r10)
	RESTORE	%rsi
	RESTORE	%rdx
.Ltell\@:
	UNLESS_OFF .Lret\@
	test	%rdi, %rdi
	jne	.Lprobe\@
	/* realloc(NULL) has failed; realloc(block, 0) has freed it, and NULL is no failure. */
	test	%rdx, %rdx
	je	.Lret\@
	test	%rsi, %rsi
	je	.Lret\@
	mov	%rdx, %rdi
	PROBE	.Lkept\@
.Lret\@:
	ret
	UNDO	.Lundo\@
	TABLE	\kind, .Lentry\@, .Lentry\@, .Lexact\@, .Lundo\@, .Lroom\@, 0, \
		.Lprobe\@, .Lfreed\@, .Lkept\@
.endm

/* OWN_SLOT where the thread counts in another one's slot: keeps all but %r10 and %r11. */
	.balign	16
own_slot:
	.cfi_startproc
	SAVE	%rax
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	SAVE	%rcx
	SAVE	%r8
	SAVE	%r9
	TAKE_STACK	8
	mov	%rax, %rdi
	call	gate_own
	mov	%rax, %r10
	GIVE_STACK	8
	RESTORE	%r9
	RESTORE	%r8
	RESTORE	%rcx
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	RESTORE	%rax
	ret
	.cfi_endproc

.rept 8
	ALLOC	GATE_KIND_SIZE_1, %rdi
.endr
.rept 6
	ALLOC	GATE_KIND_SIZE_2, %rsi
.endr
.rept 3
	ALLOC	GATE_KIND_CALLOC, %rcx
.endr
.rept 2
	ALLOC	GATE_KIND_POSIX, %rdx
.endr
.rept 4
	ALLOC	GATE_KIND_NEW, %rdi
.endr
.rept 4
	ALLOC	GATE_KIND_NEW_ALIGNED, %rdi
.endr
.rept 4
	REALLOC	GATE_KIND_REALLOC, %rsi
.endr
.rept 3
	REALLOC	GATE_KIND_REALLOC_ARRAY, %rcx
.endr
.rept 16
	FREE
.endr

	.size	memleakbpf_gate, . - memleakbpf_gate

	.section .note.GNU-stack, "", @progbits
