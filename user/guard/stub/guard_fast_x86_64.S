/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guards' code, copied into targets: in front of each function of an allocator that gives blocks
 * a stub that counts calls, and takes one in many; in front of each that takes one a stub that looks
 * whether it lies in the pool. The latter are three instructions, and stay as long as the pool has
 * blocks: one that came to the real allocator would be the program's end.
 *
 * At a function's entry %rax, %r10, %r11 and the flags are free; a stub keeps what may hold an argument until
 * the call is known to be its own. At a probe (%rsp) is the return address of the program's call:
 * CFA = %rsp + 8, callee-saved registers as at the function's entry. A probe changes no register.
 *
 * That a block is given is told by the fault that makes its page, which has to come anyhow, and by a probe where there
 * is none to come. The end of a block is told before its place is given back, so nothing of the next block there can be
 * told before it. No exception comes by here: what may throw is only ever jumped to.
 *
 * A child that was forked has the copy of this code: a nop that the kernel has made a call of would be
 * its end (docs/gate.md), and `alive` is 0 there.
 */
#include "user/gate/stub/macros_x86_64.S"
#include "user/guard/guard_layout.h"

	.text
	.globl	memleakbpf_guard
	.type	memleakbpf_guard, @function
memleakbpf_guard:
	.hidden	guard_header, guard_slots, guard_pool, guard_metas

#define ALIVE guard_header+GUARD_HEADER_ALIVE(%rip)

.set stubs, 0

.macro TABLE kind, entry, undo, room, instead=0, mine=0, allocated=0, freed=0, bad=0, given=0
	.pushsection .table, ""
	.long	\kind, \entry, \undo, \room, \instead, \mine, \allocated, \freed, \bad, \given, 0, 0
	.popsection
	.set stubs, stubs + 1
.endm

.macro UNDO label
	.cfi_endproc
	.balign	16
\label:	.fill	GATE_UNDO, 1, 0xcc
.endm

/*
 * guard_alloc() takes the slot, the size, an alignment or 0, and where the return address is; its second
 * result, the block's life, goes on in %rcx. It is
 * called for what cannot be guarded, too: the slot's count has wrapped, and is set anew there.
 */
.macro ALLOC kind
	.balign	64
	.cfi_startproc
.Lentry\@:
	movabs	$GATE_GOLDEN, %r11
	lea	guard_slots(%rip), %rax
	imul	%fs:0x10, %r11
	shr	$(58 - GUARD_SLOT_BITS), %r11
	and	$(((1 << GUARD_SLOT_BITS) - 1) << 6), %r11d
	subq	$1, (%rax, %r11)
	jb	.Lslow\@
	ROOM	.Lroom\@
.Lslow\@:
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	lea	24(%rsp), %rcx
.if \kind == GUARD_KIND_SIZE_1
	mov	%rdi, %rsi
	xor	%edx, %edx
.elseif \kind == GUARD_KIND_SIZE_FLAGS
	/* With flags it is not to be had: 1 is no alignment that is given. */
	xor	%edx, %edx
	test	%esi, %esi
	setne	%dl
	mov	%rdi, %rsi
.elseif \kind == GUARD_KIND_SIZE_2
	mov	%rdi, %rdx
.elseif \kind == GUARD_KIND_SIZE_ALIGNED
	mov	%rsi, %rdx
	mov	%rdi, %rsi
.elseif \kind == GUARD_KIND_CALLOC
	xor	%edx, %edx
	imul	%rdi, %rsi
	jno	.Lproduct\@
	mov	$-1, %rsi
.Lproduct\@:
.else
	xchg	%rsi, %rdx
	/* 0 is wrong, as 1 is, and no wish for the usual one. */
	test	%rdx, %rdx
	jne	.Lwish\@
	mov	$1, %edx
.Lwish\@:
.endif
	lea	(%rax, %r11), %rdi
	call	guard_alloc
	mov	%rdx, %rcx
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	test	%rax, %rax
	je	.Lroom\@
.if \kind == GUARD_KIND_SIZE_1 || \kind == GUARD_KIND_SIZE_FLAGS || \kind == GUARD_KIND_SIZE_ALIGNED
	mov	%rdi, %rsi
.elseif \kind == GUARD_KIND_CALLOC
	imul	%rdi, %rsi
.elseif \kind == GUARD_KIND_POSIX
	mov	%rax, (%rdi)
	mov	%rdx, %rsi
.endif
	mov	%rax, %rdi
.if \kind == GUARD_KIND_POSIX
	xor	%eax, %eax
.endif
	mov	$stubs, %edx
	jmp	given
	UNDO	.Lundo\@
	TABLE	\kind, .Lentry\@, .Lundo\@, .Lroom\@, allocated=told_allocated, given=told_by_fault
.endm

/* Equal: the block in %rdi is of the pool. All of the number is compared: anything may be passed. */
.macro MINE label
	mov	%rdi, %rax
\label:
	.byte	0x48, 0xc1, 0xe8, 0		/* shr $0, %rax */
	.byte	0x48, 0x3d, 0xff, 0xff, 0xff, 0x7f /* cmp $0x7fffffff, %rax */
.endm

.macro FREE
	.balign	64
	.cfi_startproc
.Lentry\@:
	MINE	.Lmine\@
	je	.Lours\@
	ROOM	.Lroom\@
.Lours\@:
	mov	$stubs, %edx
	jmp	free_ours
	UNDO	.Lundo\@
	TABLE	GUARD_KIND_FREE, .Lentry\@, .Lundo\@, .Lroom\@, 0, .Lmine\@, 0, told_freed, told_bad
.endm

.macro REALLOC kind
	.balign	64
	.cfi_startproc
.Lentry\@:
	MINE	.Lmine\@
	je	.Lours\@
	ROOM	.Lroom\@
.Lours\@:
	mov	%rsi, %rcx
.if \kind == GUARD_KIND_REALLOC_ARRAY || \kind == GUARD_KIND_REALLOC_ARRAY_KEEPS
	imul	%rdx, %rcx
	jno	.Lproduct\@
	mov	$-1, %rcx
.Lproduct\@:
.endif
	SAVE	%rdi
	SAVE	%rcx
	TAKE_STACK 8
	xor	%eax, %eax
.if \kind != GUARD_KIND_REALLOC_KEEPS && \kind != GUARD_KIND_REALLOC_ARRAY_KEEPS
	test	%rcx, %rcx
	je	.Lmade\@
.endif
.if \kind == GUARD_KIND_REALLOC_FLAGS
	mov	%rdx, %rsi
.endif
	mov	%rcx, %rdi
	call	.Linstead\@
.Lmade\@:
	mov	%rax, (%rsp)
	mov	16(%rsp), %rdi
	mov	8(%rsp), %rsi
	mov	%rax, %rdx
	call	guard_move
	mov	%eax, %esi
	RESTORE	%rax
	RESTORE	%rcx
	RESTORE	%rdi
	mov	%rdx, %rcx
	mov	$stubs, %edx
	jmp	ended
	UNDO	.Lundo\@
.Linstead\@: .fill 5, 1, 0xcc
	TABLE	\kind, .Lentry\@, .Lundo\@, .Lroom\@, .Linstead\@, .Lmine\@, 0, told_freed, told_bad
.endm

.macro USABLE
	.balign	64
	.cfi_startproc
.Lentry\@:
	MINE	.Lmine\@
	je	guard_usable
	ROOM	.Lroom\@
	UNDO	.Lundo\@
	TABLE	GUARD_KIND_USABLE, .Lentry\@, .Lundo\@, .Lroom\@, 0, .Lmine\@
.endm

/*
 * What may give a thread a filter (seccomp(2), prctl(2)): it is called, not jumped to, since the tool looks at what came of it
 * only when it has ended. The word that syscall() then finds on the stack in place of its seventh argument is read by neither
 * of the two calls.
 */
#define NR_PRCTL	 157
#define NR_SECCOMP	 317
#define PR_SET_SECCOMP	 22
#define SECCOMP_LAST_SET 1 /* of SECCOMP_SET_MODE_STRICT and _FILTER; what only asks comes behind */

.macro LEAVE kind
	.balign	64
	.cfi_startproc
.Lentry\@:
.if \kind == GUARD_KIND_PRCTL
	cmp	$PR_SET_SECCOMP, %edi
	je	.Lleaves\@
.else
	cmp	$NR_PRCTL, %edi
	je	.Lprctl\@
	cmp	$NR_SECCOMP, %edi
	je	.Lseccomp\@
.endif
	ROOM	.Lroom\@
.if \kind == GUARD_KIND_SYSCALL
.Lprctl\@:
	cmp	$PR_SET_SECCOMP, %esi
	jne	.Lroom\@
	jmp	.Lleaves\@
.Lseccomp\@:
	cmp	$SECCOMP_LAST_SET, %esi
	ja	.Lroom\@
.endif
.Lleaves\@:
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rdx
	SAVE	%rcx
	SAVE	%r8
	SAVE	%r9
	TAKE_STACK 8
	call	guard_leave
	GIVE_STACK 8
	RESTORE	%r9
	RESTORE	%r8
	RESTORE	%rcx
	RESTORE	%rdx
	RESTORE	%rsi
	RESTORE	%rdi
	TAKE_STACK 8
	call	.Lroom\@
	mov	%rax, (%rsp)
	call	guard_left
	mov	(%rsp), %rax
	GIVE_STACK 8
	ret
	UNDO	.Lundo\@
	TABLE	\kind, .Lentry\@, .Lundo\@, .Lroom\@
.endm

/* %rdi: the block, %rsi: its size, %edx: the number of the stub, %rcx: life, %rax: what the function returns. */
	.balign	16
given:
	.cfi_startproc
	btr	$GUARD_BY_FAULT_BIT, %rcx
	jnc	.Lby_probe
	mov	%rdi, %r11
	and	$-GUARD_PLACE, %r11
told_by_fault:
	movb	$GUARD_FILL, GUARD_DATA(%r11)
.Lgiven:
	SAVE	%rax
	call	guard_fill
	RESTORE	%rax
	ret
.Lby_probe:
	cmpq	$0, ALIVE
	je	.Lgiven
	PROBE	told_allocated
	jmp	.Lgiven
	.cfi_endproc

/* %rdi: the block, %edx: the number of the stub. */
	.balign	16
free_ours:
	.cfi_startproc
	SAVE	%rdi
	SAVE	%rdx
	TAKE_STACK 8
	call	guard_end
	mov	%eax, %esi
	mov	%rdx, %rcx
	GIVE_STACK 8
	RESTORE	%rdx
	RESTORE	%rdi
	/* ... %esi: what is wrong with it, %rax: what the function returns, %rcx: the block's life. */
ended:
	test	%esi, %esi
	je	.Lfreed
	cmp	$GUARD_STAYS, %esi
	je	.Lended
	cmpq	$0, ALIVE
	je	.Lnot_told
	PROBE	told_bad
.Lnot_told:
	cmp	$GUARD_CHANGED, %esi
	jne	.Lended
.Lfreed:
	cmpq	$0, ALIVE
	je	.Lfinish
	PROBE	told_freed
.Lfinish:
	SAVE	%rax
	call	guard_finish
	RESTORE	%rax
.Lended:
	ret
	.cfi_endproc

.rept 6
	ALLOC	GUARD_KIND_SIZE_1
.endr
.rept 6
	ALLOC	GUARD_KIND_SIZE_2
.endr
	ALLOC	GUARD_KIND_SIZE_FLAGS
.rept 5
	ALLOC	GUARD_KIND_SIZE_ALIGNED
.endr
.rept 3
	ALLOC	GUARD_KIND_CALLOC
.endr
.rept 2
	ALLOC	GUARD_KIND_POSIX
.endr
.rept 20
	FREE
.endr
.rept 4
	REALLOC	GUARD_KIND_REALLOC
.endr
.rept 2
	REALLOC	GUARD_KIND_REALLOC_KEEPS
.endr
.rept 2
	REALLOC	GUARD_KIND_REALLOC_ARRAY_KEEPS
.endr
	REALLOC	GUARD_KIND_REALLOC_FLAGS
.rept 3
	REALLOC	GUARD_KIND_REALLOC_ARRAY
.endr
.rept 4
	USABLE
.endr
	LEAVE	GUARD_KIND_PRCTL
	LEAVE	GUARD_KIND_SYSCALL

	.size	memleakbpf_guard, . - memleakbpf_guard

	.section .note.GNU-stack, "", @progbits
