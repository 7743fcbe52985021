// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All handlers have struct rt_sigframe of the kernel's arch/x86/include/asm/sigframe.h (64 bits).
 */
#include "user/freeze/signal_frames.h"

#if defined(__x86_64__)
#include <stddef.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

#define PAGE 4096ull

#define CODE_SEGMENT 0x33 /* of 64-bit programs */

/* asm/ucontext.h: the latter two are set since 4.6, with or without the first. */
#define UC_FP_XSTATE	     1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4

/* Of the flags register: always 1; and there are none above. */
#define FLAG_ALWAYS 2
#define FLAGS_END   (1 << 22)

/* The frame's words: where its handler returns to, and behind it the context. */
#define CONTEXT	    8
#define WORDS	    ((CONTEXT + offsetof(ucontext_t, uc_mcontext.fpregs)) / 8)
#define WORD(field) ((CONTEXT + offsetof(ucontext_t, field)) / 8)

/*
 * Reads the memory above the stack pointer, page by page, up to the first page that is not there.
 * Returns how much.
 */
static size_t frames_read(pid_t pid, uint64_t sp, uint64_t *to)
{
	struct iovec local = {to, SIGNAL_FRAMES_REACH}, remote[SIGNAL_FRAMES_REACH / PAGE + 1];
	uint64_t at = sp, end = sp + SIGNAL_FRAMES_REACH;
	size_t pages = 0;
	ssize_t got;

	while (at < end) {
		uint64_t next = (at & ~(PAGE - 1)) + PAGE;

		if (next > end)
			next = end;
		remote[pages++] = (struct iovec){(void *)(uintptr_t)at, next - at};
		at = next;
	}
	got = process_vm_readv(pid, &local, 1, remote, pages, 0);
	return got > 0 ? (size_t)got : 0;
}

static bool frames_is_one(const uint64_t *words)
{
	uint64_t flags, eflags;

	/* Checks first what hardly any other word has. */
	if ((words[WORD(uc_mcontext.gregs[REG_CSGSFS])] & 0xffff) != CODE_SEGMENT)
		return false;
	flags = words[WORD(uc_flags)];
	eflags = words[WORD(uc_mcontext.gregs[REG_EFL])];
	return (flags | UC_FP_XSTATE) == (UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS) &&
	       !words[WORD(uc_link)] && (eflags & FLAG_ALWAYS) && eflags < FLAGS_END;
}

/*
 * Visits one stack. *other: the stack pointer of another interrupted stack; unchanged if there is
 * none.
 */
static bool frames_visit_stack(pid_t pid, uint64_t sp, uint64_t *other,
			       bool (*visit)(void *ctx, const struct signal_frame *frame),
			       void *ctx)
{
	/*
	 * Not from malloc, which may have none: a stack not looked at would seem to be without
	 * handlers.
	 */
	uint64_t words[SIGNAL_FRAMES_REACH / sizeof(uint64_t)];
	size_t count;

	sp &= ~7ull;
	if (sp + SIGNAL_FRAMES_REACH < sp)
		return false;
	count = frames_read(pid, sp, words) / sizeof(*words);
	for (size_t i = 0; i + WORDS <= count; i++) {
		const uint64_t *at = words + i;
		struct signal_frame frame;
		uint64_t back;

		if (!frames_is_one(at))
			continue;
		frame = (struct signal_frame){.ip = at[WORD(uc_mcontext.gregs[REG_RIP])],
					      .stack = at[WORD(uc_stack.ss_sp)],
					      .stack_size = at[WORD(uc_stack.ss_size)]};
		if (visit(ctx, &frame))
			return true;
		back = at[WORD(uc_mcontext.gregs[REG_RSP])];
		if (back - sp >= SIGNAL_FRAMES_REACH)
			*other = back;
	}
	return false;
}

bool signal_frames_any(pid_t pid, uint64_t sp,
		       bool (*visit)(void *ctx, const struct signal_frame *frame), void *ctx)
{
	for (int i = 0; sp && i < SIGNAL_FRAMES_STACKS; i++) {
		uint64_t other = 0;

		if (frames_visit_stack(pid, sp, &other, visit, ctx))
			return true;
		sp = other;
	}
	return false;
}
#else
bool signal_frames_any(pid_t pid, uint64_t sp,
		       bool (*visit)(void *ctx, const struct signal_frame *frame), void *ctx)
{
	(void)pid;
	(void)sp;
	(void)visit;
	(void)ctx;
	return false;
}
#endif
