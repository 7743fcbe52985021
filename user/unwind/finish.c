// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/finish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_host.h"
#include "user/base/util.h"

#if defined(__aarch64__)
#define UNWIND_AARCH64
#endif

/* Answers the walker from plain memory. */
struct unwind_memory {
	const struct unwind_publisher *publisher;
	const struct unwind_rule *rules;
	unwind_read_fn read;
	void *ctx;
};

static __always_inline const uint8_t *unwind_chunk(const struct unwind_state *state, uint32_t word)
{
	return unwind_publisher_chunk(state->memory->publisher, word);
}

static __always_inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
								uint32_t number)
{
	return number < UNWIND_MAX_RULES ? &state->memory->rules[number] : NULL;
}

static __always_inline const struct unwind_target *unwind_target_of(
	const struct unwind_state *state)
{
	return unwind_publisher_own_target(state->memory->publisher);
}

static __always_inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address)
{
	return state->memory->read(state->memory->ctx, to, size, address);
}

static __always_inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc)
{
	(void)pc;
	/* The first frame's mark is vouched for; a frame pointer is not, and may be none. */
	return state->weak ? UNWIND_NOT_CODE : UNWIND_UNKNOWN;
}

/* The kernel tells the thread itself only. */
static __always_inline bool unwind_undo_return_probe(struct unwind_state *state)
{
	(void)state;
	return false;
}

static __always_inline int unwind_frame_size(const struct unwind_state *state)
{
	(void)state;
	return UNWIND_FRAME_OTHER;
}

#include "bpf/unwind_walk.h"

/* The only memory of the target is the copied piece of stack. */
static int finish_read_copy(void *ctx, void *to, uint32_t size, uint64_t address)
{
	const struct stack_copy_event *copy = ctx;
	uint64_t offset = address - copy->sp;

	if (offset > copy->size || size > copy->size - offset)
		return -EFAULT;
	memcpy(to, (const uint8_t *)copy->words + offset, size);
	return 0;
}

static void finish_begin(struct unwind_state *state, const struct stack_copy_event *copy)
{
	state->target_id = UNWIND_OWN_TARGET;
	unwind_begin(state);
	state->regs = (struct unwind_regs){
		.pc = copy->pc, .sp = copy->sp, .fp = copy->fp, .lr = copy->lr};
	state->hash = copy->hash;
	state->exact = copy->exact;
	state->first = copy->first;
}

int unwind_finish_copy(const struct unwind_publisher *publisher,
		       const struct stack_copy_event *copy, uint32_t max_frames,
		       struct stack_event *out)
{
	const struct unwind_memory memory = {.publisher = publisher,
					     .rules = unwind_publisher_rules(publisher),
					     .read = finish_read_copy,
					     .ctx = (void *)copy};
	_cleanup_free_ struct unwind_state *state = calloc(1, sizeof(*state));
	uint32_t known = copy->stack.frame_count, count;

	if (!state)
		return -ENOMEM;
	if (!known || known > ABI_MAX_FRAMES || copy->size > sizeof(copy->words) ||
	    max_frames > ABI_MAX_FRAMES)
		return -EBADMSG;
	*out = copy->stack;
	state->memory = &memory;
	state->flags = unwind_publisher_has_tables(publisher) ? 0 : UNWIND_FP_ONLY;
	finish_begin(state, copy);
	for (count = known - 1; count < max_frames;) {
		uint64_t pc = state->regs.pc;
		int outcome = unwind_one(state);

		if (outcome == UNWIND_DROP)
			break;
		out->frames[count++] = pc;
		if (outcome != UNWIND_NEXT)
			break;
	}
	if (state->end == STACK_END_NO_MAPPING && count == known)
		return -ENOENT;
	unwind_finish(state, out, count);
	out->stack_id = state->hash;
	return 0;
}

uint64_t unwind_stack_id(const struct location *locations, size_t count, uint8_t end)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < count; i++) {
		const struct location *at = &locations[i];
		/* Behind the first frame these are return addresses: the call lies before. */
		uint64_t place = at->offset - (i > 0);

		if (at->object)
			place = unwind_mix(place, (uint32_t)object_id(at->object));
		hash = unwind_mix(hash, place);
	}
	hash = unwind_mix(hash, end);
	return hash ? hash : 1;
}

/* A recursion may be deep, and the holder of a block is often in main(). */
#define MAX_DEPTH 200000

/*
 * Below its stack pointer a function that calls none may use that much (System V ABI for x86-64,
 * 3.2.2).
 */
#define RED_ZONE 128

/* At the registers of a thread that stands still, which need not be at a function's beginning. */
static void unwind_begin_at(struct unwind_state *state, const struct unwind_memory *memory,
			    const struct unwind_regs *regs)
{
	state->memory = memory;
	state->target_id = UNWIND_OWN_TARGET;
	state->regs = *regs;
	unwind_begin(state);
	state->first = 0;
}

int unwind_find_frame(const struct unwind_publisher *publisher, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx, uint64_t address, struct unwind_frame *out)
{
	const struct unwind_memory memory = {.publisher = publisher,
					     .rules = unwind_publisher_rules(publisher),
					     .read = read,
					     .ctx = ctx};
	_cleanup_free_ struct unwind_state *state = calloc(1, sizeof(*state));
	bool found = false;

	if (!state)
		return -ENOMEM;
	unwind_begin_at(state, &memory, regs);
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		uint64_t low = state->regs.sp - (state->exact ? RED_ZONE : 0);
		struct unwind_frame frame = {.pc = state->regs.pc,
					     .is_return_address = !state->exact,
					     .sp = state->regs.sp};
		int outcome = unwind_one(state);

		/*
		 * A frame pointer was followed that nothing vouched for. Now we know whether it led
		 * to code.
		 */
		if (found)
			return outcome == UNWIND_DROP ? -ENOENT : 0;
		/*
		 * After a signal's frame the pc is exact again, and the stack may be another one; a
		 * goroutine's is.
		 */
		if (outcome != UNWIND_NEXT)
			return state->end == STACK_END_COMPLETE && !state->c_sp &&
					       address >= state->regs.sp
				       ? -ERANGE
				       : -ENOENT;
		if (state->exact || address < low || address >= state->regs.sp)
			continue;
		frame.cfa = state->regs.sp;
		*out = frame;
		found = true;
		if (!state->weak)
			return 0;
	}
	return -ENOENT;
}

int unwind_each_frame(const struct unwind_publisher *publisher, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx,
		      bool (*fn)(void *fn_ctx, const struct unwind_frame *frame), void *fn_ctx)
{
	const struct unwind_memory memory = {.publisher = publisher,
					     .rules = unwind_publisher_rules(publisher),
					     .read = read,
					     .ctx = ctx};
	_cleanup_free_ struct unwind_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	unwind_begin_at(state, &memory, regs);
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		struct unwind_frame frame = {.pc = state->regs.pc,
					     .is_return_address = !state->exact,
					     .sp = state->regs.sp};

		/* After a signal's frame the pc is exact again, and the stack may be another one. */
		if (unwind_one(state) != UNWIND_NEXT || state->exact || state->weak)
			break;
		frame.cfa = state->regs.sp;
		if (!fn(fn_ctx, &frame))
			break;
	}
	return 0;
}
