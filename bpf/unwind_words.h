/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of stack that a walk reads, each noted in the walk's trail (bpf/unwind_trail.h). */
#ifndef MEMLEAKBPF_BPF_UNWIND_WORDS_H
#define MEMLEAKBPF_BPF_UNWIND_WORDS_H

#include "bpf/unwind_host.h"

/* What pointer authentication leaves of an address. */
#ifdef UNWIND_AARCH64
#define UNWIND_ADDRESS_MASK 0x0000ffffffffffffull
#else
#define UNWIND_ADDRESS_MASK 0xffffffffffffffffull
#endif

/*
 * The walk depends on this word of the stack. Without branches, since the verifier follows each. Of
 * a word that is no address of user space, as it has more bits, there is no trail.
 */
static __always_inline void unwind_note(struct unwind_state *state, uint64_t address, uint64_t word)
{
	struct unwind_trail *trail = &state->trail;
	uint64_t offset = address - trail->regs.sp, i = trail->count & (UNWIND_TRAIL_WORDS - 1);

	trail->words[i] = word | offset / 8 << UNWIND_WORD_BITS;
	trail->count++;
	trail->other |= offset >> UNWIND_TRAIL_REACH | (offset & 7) | (address & 7) |
			word >> UNWIND_WORD_BITS;
}

/* The walk depends on more than words of the stack. */
static __always_inline void unwind_note_other(struct unwind_state *state)
{
	state->trail.other = 1;
}

/* Reads a word of the stack, through the window. */
static __always_inline int unwind_peek(struct unwind_state *state, uint64_t address, uint64_t *to)
{
	uint64_t offset = address - state->window_at;

	if (address & 7)
		return unwind_read(state, to, sizeof(*to), address);
	if (!state->window_at || offset >= sizeof(state->window)) {
		if (unwind_read(state, state->window, sizeof(state->window), address)) {
			/* Near the end of the stack the window does not fit. */
			state->window_at = 0;
			return unwind_read(state, to, sizeof(*to), address);
		}
		state->window_at = address;
		offset = 0;
	}
	*to = state->window[(offset / 8) & (UNWIND_WINDOW_WORDS - 1)];
	return 0;
}

static __always_inline int unwind_read_word(struct unwind_state *state, uint64_t address,
					    uint64_t *to)
{
	int err = unwind_peek(state, address, to);

	if (err)
		unwind_note_other(state);
	else
		unwind_note(state, address, *to);
	return err;
}

/*
 * The same of a return address. Whatever pointer authentication has put into it is no part of the
 * trail, as unwind_go() leaves it out.
 */
static __always_inline int unwind_read_return(struct unwind_state *state, uint64_t address,
					      uint64_t *to)
{
	int err = unwind_peek(state, address, to);

	if (err)
		unwind_note_other(state);
	else
		unwind_note(state, address, *to & UNWIND_ADDRESS_MASK);
	return err;
}

/*
 * Reads the frame pointer if it is still in memory. Apart from the window, which moves upwards
 * only.
 */
static __always_inline int unwind_need_fp(struct unwind_state *state)
{
	uint64_t at = state->fp_at, offset = at - state->window_at;

	if (!at) {
		state->trail.uses_fp |= state->first_fp;
		return 0;
	}
	state->fp_at = 0;
	state->first_fp = 0;
	if (state->window_at && !(at & 7) && offset < sizeof(state->window)) {
		state->regs.fp = state->window[(offset / 8) & (UNWIND_WINDOW_WORDS - 1)];
	} else if (unwind_read(state, &state->regs.fp, sizeof(state->regs.fp), at)) {
		unwind_note_other(state);
		return -1;
	}
	unwind_note(state, at, state->regs.fp);
	return 0;
}

#endif
