// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/finish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind.h"
#include "user/base/util.h"

#if defined(__aarch64__)
#define UNWIND_AARCH64
#endif

/* What the walker asks for, in plain memory. */
struct unwind_memory {
	const struct unwind_publisher *publisher;
	const struct unwind_rule *rules;
	const struct stack_copy_event *copy;
};

static inline const uint8_t *unwind_chunk(const struct unwind_state *state, uint32_t word)
{
	return unwind_publisher_chunk(state->memory->publisher, word);
}

static inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
						       uint32_t number)
{
	return number < UNWIND_MAX_RULES ? &state->memory->rules[number] : NULL;
}

static inline const struct unwind_target *unwind_target_of(const struct unwind_state *state)
{
	return unwind_publisher_own_target(state->memory->publisher);
}

/* Of the target's memory there is only the copied piece of stack. */
static inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
			      uint64_t address)
{
	const struct stack_copy_event *copy = state->memory->copy;
	uint64_t offset = address - copy->sp;

	if (offset > copy->size || size > copy->size - offset)
		return -EFAULT;
	memcpy(to, (const uint8_t *)copy->words + offset, size);
	return 0;
}

static inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc)
{
	(void)state;
	(void)pc;
	return UNWIND_UNKNOWN;
}

#define unwind_opaque(variable) __asm__("" : "+r"(variable))

#include "bpf/unwind_walk.h"

static void begin(struct unwind_state *state, const struct stack_copy_event *copy)
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
	const struct unwind_memory memory = {
		.publisher = publisher, .rules = unwind_publisher_rules(publisher), .copy = copy};
	_cleanup_free_ struct unwind_state *state = calloc(1, sizeof(*state));
	uint32_t known = copy->stack.frame_count, count;

	if (!state)
		return -ENOMEM;
	if (!known || known > ABI_MAX_FRAMES || copy->size > sizeof(copy->words) ||
	    max_frames > ABI_MAX_FRAMES)
		return -EBADMSG;
	*out = copy->stack;
	state->memory = &memory;
	begin(state, copy);
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
