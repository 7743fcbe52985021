// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/runtime/toy.h"

#include <bpf/bpf_helpers.h>

#include "bpf/runtime/runtime_chain.h"
#include "bpf/unwind.h"

static __always_inline int toy_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* The frame at hand, and on to the one that has called it. enum toy_failure. */
__noinline int toy_step(struct toy_thread *toy)
{
	uint64_t hash = 0;
	uint32_t place;
	int i;

	if (!toy)
		return TOY_UNREADABLE;
	toy->looked = toy->frame;
	if (toy_read(toy->words, sizeof(toy->words), toy->frame) ||
	    toy_read(toy->name, sizeof(toy->name), toy->words[TOY_FRAME_FUNCTION]))
		return TOY_UNREADABLE;
	/* Over what tells it from others that have had its address. */
	for (i = 0; i < TOY_NAME_WORDS; i++)
		hash = unwind_mix(hash, toy->name[i]);
	place = (uint32_t)toy->words[TOY_FRAME_LINE] & ~RUNTIME_ENTRY;
	if (toy->words[TOY_FRAME_ENTRY])
		place |= RUNTIME_ENTRY;
	runtime_chain_add(&toy->chain, &toy->count, &toy->hash, toy->words[TOY_FRAME_FUNCTION],
			  (uint32_t)hash, place);
	toy->frame = toy->words[TOY_FRAME_OUTER];
	return TOY_FOLLOWED;
}

__noinline int toy_follow(struct toy_thread *toy)
{
	int failure = TOY_FOLLOWED;
	uint32_t i;

	if (!toy)
		return 0;
	toy->chain.hash = 0;
	toy->count = 0;
	toy->hash = 0;
	toy->looked = toy->row.top;
	if (toy_read(&toy->frame, sizeof(toy->frame), toy->row.top))
		failure = TOY_UNREADABLE;
	for (i = 0; i < RUNTIME_MAX_CALLS && toy->frame && !failure; i++)
		failure = toy_step(toy);
	if (failure) {
		runtime_fail(RUNTIME_TOY, LOST_TOY, toy->target_id, failure, toy->looked);
		return 0;
	}
	toy->chain.count = toy->count;
	toy->chain.cut = toy->frame != 0;
	if (toy->count)
		toy->chain.hash = unwind_mix(toy->hash, toy->chain.cut) ?: 1;
	return 0;
}

/* 0, or it could not be sent. Each time: there is no table of what has been. */
__noinline int toy_tell_code(struct toy_thread *toy, uint32_t at)
{
	if (!toy || at >= RUNTIME_MAX_CALLS)
		return -1;
	toy->code.call = toy->chain.calls[at];
	toy->code.call.place &= ~RUNTIME_ENTRY;
	if (toy_read(toy->code.name, sizeof(toy->code.name), toy->code.call.code))
		return 0;
	toy->code.header.type = RUNTIME_EVENT(RUNTIME_TOY, RUNTIME_CODE);
	toy->code.header.target_id = toy->target_id;
	toy->code.header.time_ns = bpf_ktime_get_ns();
	return bpf_ringbuf_output(&events, &toy->code, sizeof(toy->code), 0) ? -1 : 0;
}

__noinline int toy_tell(struct toy_thread *toy)
{
	uint32_t i;

	if (!toy)
		return -1;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < toy->chain.count; i++) {
		if (toy_tell_code(toy, i))
			return -1;
	}
	return runtime_chain_tell(&toy->chain, RUNTIME_TOY, toy->target_id);
}
