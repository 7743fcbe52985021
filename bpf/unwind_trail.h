/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks that a thread has walked before. A program allocates in the same places again and again,
 * mostly with the same callers; then no lookup is needed.
 *
 * This never gives a wrong stack. A walk is computed from its first registers, the words of stack
 * that it reads, and the tables. A trail holds these registers and words whole, and the tables'
 * generation. It is taken only when a walk from here would read the same words at the same
 * addresses, one by one. Then each step would do the same again. Equal return addresses alone, or
 * equal stack pointers, prove nothing, as two callers with frames of one size have the same. Walks
 * that looked at anything else (code, the kernel's mappings) leave no trail.
 *
 * A walk is compared first with the trail that followed the last one the time before. That is right
 * for half to nine tenths of all walks. Next come the trails whose walk began at the same place, with the same stack pointer and return address. A program that allocates through a
 * function of its own (zmalloc, operator new) has many of these, which differ further up.
 */
#ifndef MEMLEAKBPF_BPF_UNWIND_TRAIL_H
#define MEMLEAKBPF_BPF_UNWIND_TRAIL_H

#ifdef __bpf__
#include "bpf/kernel_read.h"
#endif
#include "bpf/unwind_walk.h"

#define UNWIND_TRAIL_SETS (UNWIND_TRAILS / UNWIND_TRAIL_WAYS)

_Static_assert(sizeof(struct unwind_kept) == 64, "a cache line");
/* The kernel's limit for what it keeps with a thread, less what it has in front of it. */
_Static_assert(sizeof(struct unwind_trails) <= (64 << 10) - 512, "larger than a storage may be");

static __always_inline struct unwind_kept *unwind_kept_at(struct unwind_trails *trails,
							  uint32_t number)
{
	unwind_opaque(number);
	return &trails->kept[number & (UNWIND_TRAILS - 1)];
}

/*
 * Is the word of the stack above sp still what the trail says (unwind_trail_word())? No, where it
 * cannot be read together with those after it. Few branches: the verifier follows each of them in
 * every turn of the loop below.
 */
static __always_inline bool unwind_word_is(struct unwind_state *state, uint64_t sp, uint64_t word)
{
	uint64_t address = sp + 8 * (word >> UNWIND_WORD_BITS), offset = address - state->window_at;

	if (offset >= sizeof(state->window)) {
		state->window_at = address;
		if (unwind_read(state, state->window, sizeof(state->window), address)) {
			state->window_at = 0;
			state->window[0] = ~word;
		}
		offset = 0;
	}
	unwind_opaque(offset);
	return !((state->window[(offset / 8) & (UNWIND_WINDOW_WORDS - 1)] ^ word)
		 << (64 - UNWIND_WORD_BITS));
}

/* In BPF a function of its own, which the verifier goes through once and not for each trail of a set. */
#ifdef __bpf__
#define UNWIND_TRAIL_FUNCTION __noinline
#else
#define UNWIND_TRAIL_FUNCTION static inline
#endif

/* Would a walk with state->regs go the way of that trail? */
UNWIND_TRAIL_FUNCTION int unwind_follows(struct unwind_state *state, struct unwind_trails *trails,
					 uint32_t number, uint32_t generation)
{
	const struct unwind_regs *now, *then;
	const struct unwind_kept *kept;
	const uint64_t *words;
	uint64_t start, sp;
	uint32_t count, i;

	if (!state || !trails)
		return false;
	kept = unwind_kept_at(trails, number);
	now = &state->regs;
	then = &kept->regs;
	count = kept->count;
	start = kept->start;
	if (kept->target_id != state->target_id || kept->generation != generation)
		return false;
	if (now->pc != then->pc || now->sp != then->sp || now->lr != then->lr)
		return false;
	if (kept->uses_fp && now->fp != then->fp)
		return false;
	if (trails->used - start > UNWIND_TRAIL_ROOM)
		return false;
	start &= UNWIND_TRAIL_ROOM - 1;
	words = &trails->words[start];
	sp = now->sp;
	for (i = 0; i < UNWIND_TRAIL_WORDS; i++) {
		if (i >= count)
			return true;
		if (!unwind_word_is(state, sp, words[i]))
			return false;
	}
	return count == UNWIND_TRAIL_WORDS;
}

/*
 * Names the set of trails of a walk from here, by the call at its beginning: place, stack pointer
 * and return address. Never 0.
 */
static __always_inline uint64_t unwind_trail_key(struct unwind_state *state)
{
	uint64_t back = state->regs.lr;

#ifndef UNWIND_AARCH64
	if (unwind_peek(state, state->regs.sp, &back))
		return 0;
#endif
	return unwind_mix(unwind_mix(state->regs.sp, back), state->regs.pc) ?: 1;
}

static __always_inline uint32_t unwind_set_of(uint64_t key)
{
	return (uint32_t)(key >> 32) & (UNWIND_TRAIL_SETS - 1);
}

static __always_inline const struct unwind_kept *unwind_trail_taken(struct unwind_trails *trails,
								    uint32_t number)
{
	trails->next[trails->last] = (uint8_t)number;
	trails->last = (uint8_t)number;
	return unwind_kept_at(trails, number);
}

/* The trail that a walk with state->regs would go, by tables of that generation. NULL: none that is known. */
static __always_inline const struct unwind_kept *unwind_trail_find(struct unwind_state *state,
								   struct unwind_trails *trails,
								   uint32_t generation)
{
	uint32_t number = trails->next[trails->last], end;

	state->window_at = 0;
	if (unwind_follows(state, trails, number, generation))
		return unwind_trail_taken(trails, number);
	state->key = unwind_trail_key(state);
	if (!state->key)
		return NULL;
	number = unwind_set_of(state->key) * UNWIND_TRAIL_WAYS;
	for (end = number + UNWIND_TRAIL_WAYS; number < end; number++) {
		if (unwind_kept_at(trails, number)->tag == (uint32_t)state->key &&
		    unwind_follows(state, trails, number, generation))
			return unwind_trail_taken(trails, number);
	}
	return NULL;
}

/* Does state->trail have all that the last walk depended on? */
static __always_inline bool unwind_trail_is_whole(const struct unwind_state *state)
{
	return !state->trail.other && state->trail.count &&
	       state->trail.count <= UNWIND_TRAIL_WORDS;
}

/*
 * The trail of the set whose words were written first: they are the next to be written over. Its
 * number is computed without branches, of which the verifier would follow 2^ways ways.
 */
static __always_inline uint32_t unwind_trail_oldest(struct unwind_trails *trails, uint64_t key)
{
	uint32_t first = unwind_set_of(key) * UNWIND_TRAIL_WAYS, oldest = first, way;
	uint64_t before = unwind_kept_at(trails, first)->start;

	for (way = 1; way < UNWIND_TRAIL_WAYS; way++) {
		uint64_t start = unwind_kept_at(trails, first + way)->start;
		uint64_t older = unwind_sign(start - before);

		before ^= (before ^ start) & older;
		oldest ^= (oldest ^ (first + way)) & (uint32_t)older;
	}
	return oldest;
}

/* At most UNWIND_TRAIL_WORDS. The loop is for kernels that refuse the copy (bpf/kernel_read.h). */
static __always_inline void unwind_copy_words(uint64_t *to, const uint64_t *from, uint32_t count)
{
#ifdef __bpf__
	if (!kernel_typed()) {
		bpf_probe_read_kernel(to, count * sizeof(*to), from);
		return;
	}
#endif
	for (uint32_t i = 0; i < UNWIND_TRAIL_WORDS && i < count; i++)
		*(volatile uint64_t *)&to[i] = from[i];
}

/* Keeps state->trail, which is whole, and what its stack was found to be. After unwind_trail_find(). */
static __always_inline void unwind_trail_keep(struct unwind_state *state,
					      struct unwind_trails *trails, uint64_t number)
{
	uint32_t count = state->trail.count & (2 * UNWIND_TRAIL_WORDS - 1), place;
	uint64_t start =
		trails->used ?: UNWIND_TRAIL_ROOM; /* an empty one's is 0: older than all */
	uint64_t at = start & (UNWIND_TRAIL_ROOM - 1);
	struct unwind_kept *kept;

	if (!state->key || count > UNWIND_TRAIL_WORDS)
		return;
	place = unwind_trail_oldest(trails, state->key);
	kept = unwind_kept_at(trails, place);
	kept->regs = state->trail.regs;
	kept->target_id = state->trail.target_id;
	kept->generation = state->trail.generation;
	kept->uses_fp = !!state->trail.uses_fp;
	kept->number = number;
	kept->start = start;
	kept->count = (uint16_t)count;
	kept->tag = (uint32_t)state->key;
	unwind_copy_words(&trails->words[at], state->trail.words, count);
	trails->used = start + count;
	state->key = 0;
	unwind_trail_taken(trails, place);
}

#endif
