// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose frame an address on a stack lies in: the unwinder over the stopped target's stacks. */
#include <errno.h>
#include <string.h>
#include <sys/user.h>

#include "user/trace/frames.h"
#include "user/symbol/symbol.h"
#include "user/trace/target.h"
#include "user/trace/target_mappings.h"

#if defined(__x86_64__)
struct unwind_regs frames_registers(const struct user_regs_struct *regs)
{
	return (struct unwind_regs){.pc = regs->rip, .sp = regs->rsp, .fp = regs->rbp};
}
#elif defined(__aarch64__)
struct unwind_regs frames_registers(const struct user_regs_struct *regs)
{
	return (struct unwind_regs){
		.pc = regs->pc, .sp = regs->sp, .fp = regs->regs[29], .lr = regs->regs[30]};
}
#endif

int frames_read_image(void *ctx, void *to, uint32_t size, uint64_t address)
{
	const struct memory_image *memory = ctx;
	uint8_t *out = to;

	for (uint32_t done = 0; done < size;) {
		uint64_t at = address + done, word;
		uint32_t skip = at % 8, n = 8 - skip < size - done ? 8 - skip : size - done;

		if (!memory_image_word(memory, at - skip, &word))
			return -EFAULT;
		memcpy(out + done, (const uint8_t *)&word + skip, n);
		done += n;
	}
	return 0;
}

int trace_name_frame(struct trace *trace, struct target *target, const struct memory_image *memory,
		     const struct memory_thread *thread, uint64_t address, const struct frame **out)
{
	const struct frame *const *frames;
	struct unwind_frame frame;
	struct location location;
	struct unwind_regs regs;
	size_t count;
	int err;

	/* By frame pointers it would be a guess. */
	if (trace->options.frame_pointers ||
	    thread->word_count * 8 < sizeof(struct user_regs_struct))
		return -ENOENT;
	regs = frames_registers((const void *)thread->words);
	err = target_walk_here(trace, target);
	err = err ? err
		  : unwind_find_frame(trace->unwind, &regs, frames_read_image, (void *)memory,
				      address, &frame);
	if (err)
		return err == -ENOMEM || err == -ERANGE ? err : -ENOENT;
	if (!image_locate(target->image, frame.pc, &location))
		return -ENOENT;
	err = symbolizer_resolve(trace->symbolizer, &location, target->pid, frame.is_return_address,
				 &frames, &count);
	if (err)
		return err;
	/* The frame is the real function's, whatever is inlined at that place. */
	*out = frames[count - 1];
	return (*out)->function ? 0 : -ENOENT;
}
