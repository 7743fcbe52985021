/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks that a thread has walked before. A program allocates in the same places again and again,
 * mostly with the same callers; then nothing needs to be looked up.
 *
 * This never gives a wrong stack. A walk is computed from the registers it begins with, the words
 * of stack that it reads, and the tables; a trail holds the former two whole, and the generation of
 * the latter. It is taken only when a walk from here would read the same words at the same
 * addresses, one by one: then each step would do what it did. Equal return addresses alone, or
 * equal stack pointers, prove nothing, as two callers with frames of one size have the same. Walks
 * that looked at anything else (code, the kernel's mappings) leave no trail.
 */
#ifndef MEMLEAKBPF_BPF_UNWIND_TRAIL_H
#define MEMLEAKBPF_BPF_UNWIND_TRAIL_H

#include "bpf/unwind_walk.h"

/*
 * The pair in which a stack's trail is kept: by the call, told from others by its stack pointer and
 * return address. Of one call it holds two ways on; with single ones two places that a program
 * allocates in by turns would meet now and then, and neither be remembered ever.
 */
static __always_inline uint64_t unwind_pair_of(const struct unwind_regs *regs, uint64_t top)
{
	uint64_t i = unwind_mix(unwind_mix(regs->sp ^ regs->lr, top), regs->pc) >> 32;

	return i & (UNWIND_TRAILS / 2 - 1);
}

static __always_inline struct unwind_trail *unwind_trail_at(struct unwind_state *state, uint64_t i)
{
	unwind_opaque(i);
	if (i >= UNWIND_TRAILS)
		return NULL;
	return &state->trails[i];
}

/*
 * Is this the aligned word of the stack at the address? No, where it cannot be read together with
 * those after it. Few branches: the verifier follows each of them in every turn of the loop below.
 */
static __always_inline bool unwind_word_is(struct unwind_state *state, uint64_t address,
					   uint64_t word)
{
	uint64_t offset = address - state->window_at;

	if (offset >= sizeof(state->window)) {
		state->window_at = address;
		if (unwind_read(state, state->window, sizeof(state->window), address)) {
			state->window_at = 0;
			state->window[0] = ~word;
		}
		offset = 0;
	}
	unwind_opaque(offset);
	return state->window[(offset / 8) & (UNWIND_WINDOW_WORDS - 1)] == word;
}

/* In BPF a function of its own, which the verifier goes through once and not for each of a pair. */
#ifdef __bpf__
#define UNWIND_TRAIL_FUNCTION __noinline
#else
#define UNWIND_TRAIL_FUNCTION static inline
#endif

/* Would a walk with state->regs go the way of that trail? */
UNWIND_TRAIL_FUNCTION int unwind_follows(struct unwind_state *state, uint32_t number,
					 uint32_t generation)
{
	const struct unwind_trail *trail = state ? unwind_trail_at(state, number) : NULL;
	const struct unwind_regs *now, *then;
	uint32_t count, i;

	if (!trail)
		return false;
	now = &state->regs;
	then = &trail->regs;
	count = trail->count;
	if (trail->target_id != state->target_id || trail->generation != generation)
		return false;
	if (now->pc != then->pc || now->sp != then->sp || now->lr != then->lr)
		return false;
	if (trail->uses_fp && now->fp != then->fp)
		return false;
	for (i = 0; i < UNWIND_TRAIL_WORDS; i++) {
		if (i >= count)
			return true;
		if (!unwind_word_is(state, now->sp + 8ull * trail->at[i], trail->words[i]))
			return false;
	}
	return count == UNWIND_TRAIL_WORDS;
}

/* The trail that a walk with state->regs would go, by tables of that generation. NULL: none that is known. */
static __always_inline const struct unwind_trail *unwind_trail_find(struct unwind_state *state,
								    uint32_t generation)
{
	uint64_t top = 0, pair, way;

	state->window_at = 0;
	if (unwind_peek(state, state->regs.sp, &top))
		return NULL;
	pair = unwind_pair_of(&state->regs, top);
	way = state->newer >> pair & 1;
	for (int tries = 0; tries < 2; tries++, way ^= 1) {
		if (!unwind_follows(state, (uint32_t)(pair * 2 + way), generation))
			continue;
		if (tries)
			state->newer ^= 1ull << pair;
		return unwind_trail_at(state, pair * 2 + way);
	}
	return NULL;
}

/* Does state->trail have all that the last walk depended on? */
static __always_inline bool unwind_trail_is_whole(const struct unwind_state *state)
{
	return !state->trail.other && state->trail.count &&
	       state->trail.count <= UNWIND_TRAIL_WORDS;
}

/* Where state->trail, which is whole, is to be kept: in place of the one of its pair that has not been used for longer. */
static __always_inline struct unwind_trail *unwind_trail_replace(struct unwind_state *state)
{
	uint64_t pair = unwind_pair_of(&state->trail.regs, state->trail.words[0]);

	state->newer ^= 1ull << pair;
	return unwind_trail_at(state, pair * 2 + (state->newer >> pair & 1));
}

#endif
