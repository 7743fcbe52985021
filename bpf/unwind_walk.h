/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwinder itself. Compiled into the BPF programs, and for user space, which finishes walks and
 * tests it over captured stacks. bpf/unwind_host.h says what an includer defines before.
 */
#ifndef MEMLEAKBPF_BPF_UNWIND_WALK_H
#define MEMLEAKBPF_BPF_UNWIND_WALK_H

#include "bpf/stack_end.h"
#include "bpf/unwind_compute.h"
#include "bpf/unwind_host.h"
#include "bpf/unwind_search.h"
#include "bpf/unwind_words.h"

/* The outcome of a frame. */
enum unwind_outcome {
	UNWIND_NEXT,	/* regs are now the caller's */
	UNWIND_LAST,	/* the walk ends with this frame; state->end says why */
	UNWIND_DROP,	/* this was no frame */
	UNWIND_UNASKED, /* nobody says how to leave it */
	UNWIND_SAME,	/* regs.pc was a return probe's; the same frame again, with its own pc */
};

#ifdef UNWIND_AARCH64
/*
 * In the kernel's struct rt_sigframe: siginfo, then the ucontext with its registers x0-x30, sp, pc.
 */
#define UNWIND_SIGNAL_FP (312 + 8 * 29)
#define UNWIND_SIGNAL_LR (312 + 8 * 30)
#define UNWIND_SIGNAL_SP (312 + 8 * 31)
#define UNWIND_SIGNAL_PC (312 + 8 * 32)
#else
/* In the ucontext that rsp points to once the handler has returned. */
#define UNWIND_SIGNAL_FP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168
#endif

/* struct unwind_state.weak */
#define UNWIND_WEAK   1
#define UNWIND_PUSHED 2

/*
 * Largest frame whose return address has no call before it. HotSpot's interpreter pushes that
 * address. Believed only if both lie in code made while the program runs.
 */
#define UNWIND_PUSHED_MAX (64u << 10)

static __always_inline int unwind_stop(struct unwind_state *state, uint8_t end)
{
	state->end = end;
	return UNWIND_LAST;
}

/* Steps to the caller, whose frame begins at cfa and continues at pc. */
static __always_inline int unwind_go(struct unwind_state *state, uint64_t cfa, uint64_t pc)
{
	pc &= UNWIND_ADDRESS_MASK;
	/*
	 * A frame has a size, except on AArch64 one that was interrupted before it took any stack.
	 */
	if (cfa < state->regs.sp || (cfa == state->regs.sp && !state->exact))
		return unwind_stop(state, STACK_END_BAD_CFA);
	if (!pc)
		return unwind_stop(state, STACK_END_COMPLETE);
	state->regs.sp = cfa;
	state->regs.pc = pc;
	state->first = 0;
	state->exact = 0;
	return UNWIND_NEXT;
}

/* Is the instruction before pc a call? `unread`: the answer if it cannot be read. */
static __always_inline bool unwind_after_call(struct unwind_state *state, uint64_t pc, bool unread)
{
	uint64_t code = 0;

	unwind_note_other(state);
	if (unwind_read(state, &code, UNWIND_CALL_BYTES, pc - UNWIND_CALL_BYTES))
		return unread;
	return unwind_is_call(code);
}

#ifdef UNWIND_AARCH64
#define unwind_is_trampoline(state) false
#else
/* Does it return to "add $8,%rsp; ret", of CPython's -X perf? There fp is the caller's own. */
static __always_inline bool unwind_is_trampoline(struct unwind_state *state)
{
	uint64_t code = 0;

	if (state->object || state->exact || state->flags & UNWIND_FP_ONLY)
		return false;
	unwind_note_other(state);
	return !unwind_read(state, &code, sizeof(code), state->regs.pc) &&
	       (code & 0xffffffffffull) == 0xc308c48348ull;
}
#endif

/*
 * Code without rows: at an allocator's entry the caller is known, else the frame pointer is worth a
 * try.
 */
static __always_inline int unwind_without_rule(struct unwind_state *state)
{
	uint64_t sp = state->regs.sp, fp, pc = 0;

	if (state->first) {
#ifdef UNWIND_AARCH64
		return unwind_go(state, sp, state->regs.lr);
#else
		if (unwind_read_return(state, sp, &pc))
			return unwind_stop(state, STACK_END_READ_FAULT);
		return unwind_go(state, sp + 8, pc);
#endif
	}
	/*
	 * The first frame of a coroutine returns to a place behind no call: glibc's makecontext
	 * leaves such an address, in code without rows. The frame pointer there is a leftover.
	 */
	if (state->pages && !state->exact && !unwind_after_call(state, state->regs.pc, true))
		return unwind_stop(state, STACK_END_COMPLETE);
	if (unwind_is_trampoline(state)) {
		if (unwind_read_return(state, sp + 8, &pc))
			return unwind_stop(state, STACK_END_READ_FAULT);
		return unwind_go(state, sp + 16, pc);
	}
	if (unwind_need_fp(state))
		return unwind_stop(state, STACK_END_READ_FAULT);
	fp = state->regs.fp;
	if (!fp && (state->flags & UNWIND_FP_ONLY))
		return unwind_stop(state, STACK_END_COMPLETE);
	if ((fp & 7) || fp < sp)
		return unwind_stop(state, STACK_END_NO_ROWS);
	if (unwind_read_word(state, fp, &state->regs.fp) || unwind_read_return(state, fp + 8, &pc))
		return unwind_stop(state, STACK_END_NO_ROWS);
	state->first_fp = 0;
	state->weak = UNWIND_WEAK;
	if (!(state->flags & UNWIND_FP_ONLY) && pc &&
	    !unwind_after_call(state, pc & UNWIND_ADDRESS_MASK, true)) {
		if (state->object || fp - sp >= UNWIND_PUSHED_MAX)
			return unwind_stop(state, STACK_END_NO_ROWS);
		state->weak = UNWIND_PUSHED;
	}
	return unwind_go(state, fp + 16, pc);
}

/* Leaves a frame of this size: at its end are the caller's frame pointer and the return address. */
static __always_inline int unwind_sized(struct unwind_state *state, uint32_t size)
{
	uint64_t cfa = state->regs.sp + size, pc = 0;

	if (unwind_read_return(state, cfa - 8, &pc))
		return unwind_stop(state, STACK_END_READ_FAULT);
	state->fp_at = cfa - 16;
	return unwind_go(state, cfa, pc);
}

/*
 * A frame of HotSpot's interpreter, which has a frame pointer. A word below it tells where its
 * caller's stack ended before the caller made room for arguments. Its return address may have been
 * pushed.
 */
static __always_inline int unwind_interpreted(struct unwind_state *state)
{
	uint64_t fp = state->regs.fp, pc = 0, before = 0;
	int outcome;

	if ((fp & 7) || fp < state->regs.sp || unwind_read_word(state, fp - 8, &before) ||
	    unwind_read_return(state, fp + 8, &pc))
		return unwind_stop(state, STACK_END_NO_ROWS);
	state->fp_at = fp;
	outcome = unwind_go(state, fp + 16, pc);
	if (outcome == UNWIND_NEXT && !(before & 7) && before - (fp + 16) < UNWIND_PUSHED_MAX)
		state->regs.sp = before;
	return outcome;
}

/* Goes by the target's runtime, if that knows the frame's size. UNWIND_UNASKED: it does not. */
static __always_inline int unwind_by_runtime(struct unwind_state *state)
{
	int size;

	if (!(state->flags & (UNWIND_HOTSPOT | UNWIND_V8)) || state->first)
		return UNWIND_UNASKED;
	/* V8 has functions of JavaScript's in its own file; the JVM has none there. */
	if (state->object && !(state->flags & UNWIND_V8))
		return UNWIND_UNASKED;
	unwind_note_other(state);
	if (unwind_need_fp(state))
		return unwind_stop(state, STACK_END_READ_FAULT);
	size = unwind_frame_size(state);
	if (size == UNWIND_FRAME_OTHER)
		return UNWIND_UNASKED;
	if (size == UNWIND_FRAME_LOST)
		return unwind_stop(state, STACK_END_NO_ROWS);
	return size == UNWIND_FRAME_INTERPRETED ? unwind_interpreted(state)
						: unwind_sized(state, (uint32_t)size);
}

/*
 * A signal handler's caller is the kernel, which has left all registers on the stack; perhaps not
 * on the stack of those registers.
 */
static __always_inline int unwind_signal(struct unwind_state *state)
{
	uint64_t sp = state->regs.sp, pc = 0;

	if (unwind_read_word(state, sp + UNWIND_SIGNAL_FP, &state->regs.fp) ||
#ifdef UNWIND_AARCH64
	    unwind_read_word(state, sp + UNWIND_SIGNAL_LR, &state->regs.lr) ||
#endif
	    unwind_read_word(state, sp + UNWIND_SIGNAL_SP, &state->regs.sp) ||
	    unwind_read_word(state, sp + UNWIND_SIGNAL_PC, &pc))
		return unwind_stop(state, STACK_END_READ_FAULT);
	if (!pc)
		return unwind_stop(state, STACK_END_BAD_PC);
	state->regs.pc = pc;
	state->fp_at = 0;
	state->first_fp = 0;
	state->first = 0;
	state->exact = 1;
	return UNWIND_NEXT;
}

/* The canonical frame address: 0 and *cfa, or an error when memory cannot be read. */
static __always_inline int unwind_cfa(struct unwind_state *state, const struct unwind_rule *rule,
				      uint64_t *cfa)
{
	uint64_t base = state->regs.sp;
	uint8_t kind = rule->cfa;

	if (kind == UNWIND_CFA_FP || kind == UNWIND_CFA_FP_DEREF) {
		if (unwind_need_fp(state))
			return -1;
		base = state->regs.fp;
	}
	*cfa = base + (int64_t)rule->cfa_off;
	if (kind == UNWIND_CFA_SP_DEREF || kind == UNWIND_CFA_FP_DEREF) {
		base = *cfa;
		if (unwind_read_word(state, base, cfa))
			return -1;
		*cfa += (int64_t)rule->cfa_add;
	} else if (kind == UNWIND_CFA_PLT && (state->regs.pc & 15) >= (uint64_t)rule->cfa_add) {
		*cfa += 8;
	}
	return 0;
}

/* Applies a rule that names a caller. */
static __always_inline int unwind_apply(struct unwind_state *state, const struct unwind_rule *rule)
{
	uint64_t cfa = 0, pc = 0;

	if (unwind_cfa(state, rule, &cfa))
		return unwind_stop(state, STACK_END_READ_FAULT);
	if (rule->ra == UNWIND_RA_LR) {
		/*
		 * After a call of its own, a function's return address is no longer in the link
		 * register.
		 */
		if (!state->exact)
			return unwind_stop(state, STACK_END_BAD_PC);
		pc = state->regs.lr;
	} else if (unwind_read_return(state, cfa + (int64_t)rule->ra_off, &pc)) {
		return unwind_stop(state, STACK_END_READ_FAULT);
	}
	if (rule->fp == UNWIND_FP_FP) {
		if (unwind_need_fp(state))
			return unwind_stop(state, STACK_END_READ_FAULT);
		state->fp_at = state->regs.fp + (int64_t)rule->fp_off;
	} else if (rule->fp == UNWIND_FP_CFA) {
		state->fp_at = cfa + (int64_t)rule->fp_off;
	} else if (rule->fp == UNWIND_FP_LOST) {
		state->fp_at = 0;
		state->regs.fp = 0;
		state->first_fp = 0;
	}
	return unwind_go(state, cfa, pc);
}

/* Goes to the goroutine that has called C. Its stack may lie anywhere. */
static __always_inline int unwind_go_call(struct unwind_state *state,
					  const struct unwind_rule *rule)
{
	uint64_t sp = state->regs.sp, g = 0, depth = 0, end = 0, pc = 0;

	if (unwind_read_word(state, sp + (int64_t)rule->cfa_off, &g) ||
	    unwind_read_word(state, sp + (int64_t)rule->ra_off, &depth) ||
	    unwind_read_word(state, g + (int64_t)rule->cfa_add, &end) ||
	    unwind_read_word(state, end - depth + (int64_t)rule->fp_off, &pc))
		return unwind_stop(state, STACK_END_READ_FAULT);
	state->c_sp = sp;
	state->regs.sp = end - depth + (int64_t)rule->fp_off + 8;
	state->regs.pc = pc;
	state->first = 0;
	state->exact = 0;
	return pc ? UNWIND_NEXT : unwind_stop(state, STACK_END_BAD_PC);
}

/* C's earlier frames may lie so far up the same stack. */
#define UNWIND_GO_STACK_MAX (1ull << 30)

/*
 * Is cgocallback()'s frame there? It begins with the former end of g0's stack: a place above on the
 * same stack. From 1.21 on, after C has called from deeper, it is below. And its return address
 * lies behind a call. By chance the words beside it may look like one of the two, as they do with
 * some random addresses.
 */
static __always_inline bool unwind_is_go_frame(struct unwind_state *state,
					       const struct unwind_rule *rule, uint64_t frame,
					       uint64_t *pc)
{
	uint64_t before = 0;

	if (unwind_read_word(state, frame, &before) ||
	    unwind_read_word(state, frame + (int64_t)rule->ra_off, pc))
		return false;
	return !(before & 7) && before - frame + UNWIND_GO_STACK_MAX < 2 * UNWIND_GO_STACK_MAX &&
	       unwind_after_call(state, *pc, false);
}

/*
 * Goes from Go to the C that has called it. The stack was aligned to 16 bytes before C was called
 * later, so the frame is in one of two places.
 */
static __always_inline int unwind_go_callback(struct unwind_state *state,
					      const struct unwind_rule *rule)
{
	uint64_t frame = state->c_sp + (int64_t)rule->cfa_off, pc = 0;

	if (!state->c_sp)
		return unwind_stop(state, STACK_END_UNSUPPORTED);
	if (!unwind_is_go_frame(state, rule, frame, &pc)) {
		frame += 8;
		if (!unwind_is_go_frame(state, rule, frame, &pc))
			return unwind_stop(state, STACK_END_BAD_PC);
	}
	state->c_sp = 0;
	state->fp_at = frame + (int64_t)rule->fp_off;
	state->first_fp = 0;
	state->regs.sp = frame + (int64_t)rule->ra_off + 8;
	state->regs.pc = pc;
	state->first = 0;
	state->exact = 0;
	return UNWIND_NEXT;
}

/*
 * Makes pc's mapping the current one: UNWIND_NEXT; UNWIND_SAME when pc was not the program's own
 * address; or how the walk ends.
 */
static __always_inline int unwind_enter(struct unwind_state *state, uint64_t pc)
{
	int answer;

	if (pc >= state->map_start && pc < state->map_end)
		return UNWIND_NEXT;
	if (unwind_in_set(state, pc))
		return UNWIND_NEXT;
	state->map_end = 0;
	unwind_note_other(state);
	if (!state->exact && unwind_undo_return_probe(state)) {
		state->regs.pc &= UNWIND_ADDRESS_MASK;
		return UNWIND_SAME;
	}
	answer = unwind_ask_kernel(state, pc);
	state->asked = 1;
	if (answer == UNWIND_KNOWN)
		return UNWIND_NEXT;
	/*
	 * By frame pointers alone every frame is weak, and this may be a library that was opened a
	 * moment ago.
	 */
	if (state->weak && (state->flags & UNWIND_FP_ONLY) && answer == UNWIND_UNKNOWN)
		state->weak = !unwind_after_call(state, state->regs.pc, false);
	if (state->weak) {
		state->end = STACK_END_NO_ROWS;
		return UNWIND_DROP;
	}
	if (answer == UNWIND_NOT_CODE) {
		state->end = STACK_END_BAD_PC;
		return UNWIND_DROP;
	}
	return unwind_stop(state, STACK_END_NO_MAPPING);
}

/*
 * Looks up the rule at pc and remembers it. UNWIND_NEXT with *number filled in, UNWIND_SAME, or how
 * the walk ends.
 */
static __always_inline int unwind_look_up(struct unwind_state *state, uint64_t pc, uint32_t *number)
{
	struct unwind_cached *cached;
	uint64_t token;
	int outcome;

	/* The multiplier spreads neighbours; the top bits are the best mixed. */
	cached = &state->cache[(pc * 0x9e3779b97f4a7c15ull >> 32) & (UNWIND_CACHE_SIZE - 1)];
	if (cached->pc_rule >> 16 == pc && state->weak != UNWIND_PUSHED) {
		*number = cached->pc_rule & 0xffff;
		state->weak = 0;
		state->hash = unwind_mix(state->hash, cached->token);
		return UNWIND_NEXT;
	}
	outcome = unwind_enter(state, pc);
	if (outcome == UNWIND_DROP || outcome == UNWIND_SAME)
		return outcome;
	if (outcome == UNWIND_NEXT && state->weak == UNWIND_PUSHED && state->object) {
		state->end = STACK_END_NO_ROWS;
		return UNWIND_DROP;
	}
	state->weak = 0;
	token = pc;
	if (outcome == UNWIND_NEXT && state->object)
		token = unwind_mix(pc - state->map_base, state->object);
	if (outcome == UNWIND_LAST) {
		const struct unwind_target *target = unwind_target_of(state);

		/* Unknown code: the address alone would be the same for the next mapping there. */
		token = unwind_mix(pc, target ? target->remaps : 0);
		state->hash_before = state->hash;
	}
	state->hash = unwind_mix(state->hash, token);
	if (outcome == UNWIND_LAST)
		return outcome;
	*number = unwind_find_rule(state, pc);
	/* Code without rows needs to know its mapping, which the cache does not hold. */
	if (*number != UNWIND_RULE_NONE && !state->asked && !(pc >> 48)) {
		cached->pc_rule = pc << 16 | *number;
		cached->token = token;
	}
	return UNWIND_NEXT;
}

/* Steps from the frame in state->regs to its caller's. */
static __always_inline int unwind_one(struct unwind_state *state)
{
	uint64_t pc = state->exact ? state->regs.pc : state->regs.pc - 1;
	const struct unwind_rule *rule;
	uint32_t number = 0;
	int outcome;

	outcome = unwind_look_up(state, pc, &number);
	if (outcome != UNWIND_NEXT)
		return outcome;
	rule = unwind_rule_at(state, number);
	if (!rule)
		return unwind_stop(state, STACK_END_UNSUPPORTED);
	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		outcome = unwind_by_runtime(state);
		return outcome == UNWIND_UNASKED ? unwind_without_rule(state) : outcome;
	case UNWIND_CFA_END:
		return unwind_stop(state, STACK_END_COMPLETE);
	case UNWIND_CFA_UNSUPPORTED:
		return unwind_stop(state, STACK_END_UNSUPPORTED);
	case UNWIND_CFA_SIGNAL:
		return unwind_signal(state);
	case UNWIND_CFA_GO_CALL:
		return unwind_go_call(state, rule);
	case UNWIND_CFA_GO_CALLBACK:
		return unwind_go_callback(state, rule);
	default:
		return unwind_apply(state, rule);
	}
}

/*
 * The set, unless something was mapped while user space was about to publish it and could not be
 * marked in it.
 */
static __always_inline uint64_t unwind_trusted_set(const struct unwind_target *target)
{
	uint64_t set = *(const volatile uint64_t *)&target->set;

	return *(const volatile uint32_t *)&target->unmarked ==
			       *(const volatile uint32_t *)&target->valid_from
		       ? set
		       : 0;
}

static __always_inline void unwind_begin(struct unwind_state *state)
{
	const struct unwind_target *target = unwind_target_of(state);
	uint32_t generation = target ? *(const volatile uint32_t *)&target->generation : 0;

	/* The generation first: a set that is newer than it does no harm. */
	state->set = target ? unwind_trusted_set(target) : 0;
	if (state->generation != generation) {
		__builtin_memset(state->cache, 0, sizeof(state->cache));
		state->generation = generation;
	}
	state->end = STACK_END_TRUNCATED;
	state->first = !(state->flags & UNWIND_INSIDE);
	state->exact = 1;
	state->weak = 0;
	state->hash = 0;
	state->fp_at = 0;
	state->c_sp = 0;
	state->map_start = 0;
	state->map_end = 0;
	state->window_at = 0;
	state->first_fp = 1;
	state->trail.regs = state->regs;
	state->trail.target_id = state->target_id;
	state->trail.generation = generation;
	state->trail.uses_fp = 0;
	state->trail.count = 0;
	state->trail.other = 0;
}

static __always_inline void unwind_finish(struct unwind_state *state, struct stack_event *event,
					  uint32_t count)
{
	event->frame_count = count;
	event->end = state->end;
	state->hash = unwind_mix(state->hash, state->end);
	if (!state->hash)
		state->hash = 1;
}

#endif
