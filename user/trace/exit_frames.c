// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a thread that ends its process still holds. The thread stands in _exit. Below are the frames
 * of exit() and of main's caller. In the slots that these frames never wrote to lies what main left
 * there, the address of a lost block as well as any.
 *
 * Compilers leave such slots in every function. But here nothing of the program comes after, and
 * these functions keep no block of it. So their frames hold nothing, except the registers that they
 * save for their callers. main's own frame is not one of theirs, if main itself called exit().
 *
 * Only the frames of a shared C library are told by their object. Those of a static program are
 * not.
 */
#include "user/trace/exit_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "user/heap/dead_memory.h"
#include "user/process/object.h"
#include "user/trace/frames.h"
#include "user/trace/target_mappings.h"
#include "user/unwind/saved_slots.h"

struct exit_frames {
	const struct target *target;
	struct heap_image *image;
	const struct object *library; /* where the innermost frame is */
	int err;
};

static int by_offset(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of [sp, cfa) what lies between the slots. */
static int exit_frames_empty(struct heap_image *image, const struct unwind_frame *frame,
			     struct saved_slots *slots)
{
	uint64_t at = frame->sp;
	int err = 0;

	qsort(slots->offsets, slots->count, sizeof(slots->offsets[0]), by_offset);
	for (size_t i = 0; !err && i < slots->count; i++) {
		uint64_t slot = frame->cfa + (uint64_t)slots->offsets[i];

		if (slot < at || slot >= frame->cfa)
			continue;
		if (slot > at)
			err = heap_image_add_dead(image, at, slot);
		at = slot + sizeof(uint64_t);
	}
	return err || at >= frame->cfa ? err : heap_image_add_dead(image, at, frame->cfa);
}

/* False at the first frame that is not the library's. */
static bool exit_frames_take(void *ctx, const struct unwind_frame *frame)
{
	struct exit_frames *e = ctx;
	struct saved_slots slots;
	struct location at;
	uint64_t vaddr;

	if (!image_locate(e->target->image, frame->pc - frame->is_return_address, &at) ||
	    !at.object || frame->cfa <= frame->sp)
		return false;
	if (!e->library)
		e->library = at.object;
	if (at.object != e->library || object_offset_to_vaddr(at.object, at.offset, &vaddr) ||
	    saved_slots_find(at.object, vaddr, &slots))
		return false;
	/* The innermost function has only begun: nothing is below its stack pointer yet. */
	if (!frame->is_return_address)
		e->err = heap_image_add_dead(e->image, frame->sp - STACK_RED_ZONE, frame->sp);
	if (!e->err)
		e->err = exit_frames_empty(e->image, frame, &slots);
	return !e->err;
}

/*
 * It stands at the beginning of a function: what a call does not keep holds nothing but arguments,
 * and the only one is a number.
 */
static void exit_frames_forget_registers(struct memory_thread *thread)
{
	struct user_regs_struct *regs = (void *)thread->words;

#if defined(__x86_64__)
	regs->rax = regs->rcx = regs->rdx = regs->rsi = regs->rdi = 0;
	regs->r8 = regs->r9 = regs->r10 = regs->r11 = regs->orig_rax = 0;
	/* No vector register is kept (System V ABI, 3.2.1). */
	thread->word_count = sizeof(*regs) / sizeof(uint64_t);
#elif defined(__aarch64__)
	/* x0 to x18; of the vector registers v8 to v15 are kept, and stay (AAPCS64, 6.1). */
	memset(regs->regs, 0, 19 * sizeof(regs->regs[0]));
#endif
}

int exit_frames_leave_out(struct trace *trace, struct target *target, pid_t tid,
			  struct heap_image *image)
{
	struct exit_frames e = {.target = target, .image = image};
	struct memory_thread *thread = NULL;
	struct unwind_regs regs;
	int err;

	for (size_t i = 0; i < image->memory->thread_count; i++) {
		if (image->memory->threads[i].tid == tid)
			thread = &image->memory->threads[i];
	}
	/* By frame pointers it would be a guess. */
	if (!thread || trace->options.frame_pointers ||
	    thread->word_count * 8 < sizeof(struct user_regs_struct))
		return 0;
	regs = frames_registers((const void *)thread->words);
	err = target_walk_here(trace, target);
	err = err
		      ?: unwind_each_frame(trace->unwind, &regs, frames_read_image,
					   (void *)image->memory, exit_frames_take, &e);
	if (e.library)
		exit_frames_forget_registers(thread);
	return err == -ENOMEM ? err : e.err;
}
