// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/interpreter_stack.h"

#include <string.h>

#include "bpf/stack_end.h"
#include "user/runtime/runtime_chains.h"

struct weave {
	struct runtimes *runtimes;
	struct runtime_target *target;
	const struct interpreter *interpreter;
	const struct location *inner; /* in front of the first call of the evaluating function, */
	const struct location *eval;  /* which is this */
	const struct runtime_chain *chain;
	uint32_t next; /* of the chain's calls */
	struct stack_place *places;
	size_t count;
	size_t behind;	/* the last place that is the language's or stands for it; 0: none so far */
	bool evaluates; /* the place before was a call of the evaluating function */
};

static void weave_add_call(struct weave *w, const struct runtime_call *call)
{
	struct interpreter_place place = {
		.innermost = w->next == 1,
		.outer = w->chain->calls + w->next,
		.outer_count = w->chain->count - w->next,
		.eval = w->eval,
		.inner = w->inner,
	};

	w->places[w->count].frame = w->interpreter->frame(w->runtimes, w->target, call, &place);
	w->inner = w->eval = NULL;
	w->count += w->places[w->count].frame != NULL;
}

/* The functions that one call of the evaluating function runs. */
static void weave_add_calls(struct weave *w)
{
	while (w->next < w->chain->count) {
		const struct runtime_call *call = &w->chain->calls[w->next++];

		if (call->code)
			weave_add_call(w, call);
		if (call->place & RUNTIME_ENTRY)
			break;
	}
	w->behind = w->count;
	w->inner = w->eval = NULL;
}

static bool weave_is_in(const struct runtime_range *range, uint64_t offset)
{
	return offset >= range->start && offset < range->end;
}

/* `back`: of a return address, whose call is before it. */
static bool weave_evaluates(const struct weave *w, const struct location *location, size_t back)
{
	uint64_t offset = location->offset - back;

	return weave_is_in(&w->interpreter->eval, offset) ||
	       weave_is_in(&w->interpreter->eval_cold, offset);
}

static bool weave_is_own(const struct weave *w, const struct stack_place *place)
{
	return !place->frame && place->location.object &&
	       object_id(place->location.object) == w->interpreter->object_id;
}

/* True: the chain was cut here, and what called these functions is not known. */
static bool weave_place(struct weave *w, const struct stack_place *place, size_t i)
{
	const struct location *location = &place->location;
	bool native = w->runtimes->host.native_frames;
	bool own = i && weave_is_own(w, place);

	/* Nothing but a function's trampoline calls that from code without a file. */
	if (w->evaluates && w->interpreter->has_trampolines && !location->object && !place->frame &&
	    !native) {
		w->evaluates = false;
		return false;
	}
	w->evaluates = own && weave_evaluates(w, location, 1);
	if (!w->evaluates) {
		if (!own || native || !w->behind)
			w->places[w->count++] = *place;
		return false;
	}
	if (native)
		w->places[w->count++] = *place;
	if (!w->next) {
		w->eval = location;
		w->inner = i > 1 && weave_is_own(w, place - 1) ? &place[-1].location : NULL;
	}
	weave_add_calls(w);
	return w->chain->cut && w->next == w->chain->count;
}

/*
 * Adds the functions for which no call of the evaluating function was found. A part of that
 * function without a name lies elsewhere, or the walk has ended before. They stand behind the other
 * functions. If the walk is whole, they stand before the C functions that called the interpreter.
 *
 * Where the chain was cut the C functions behind it are left out. They are left out as well where
 * such a call was found: unknown functions lie between the two.
 */
static void weave_add_rest(struct weave *w, bool whole)
{
	struct stack_place rest[STACK_DRAFT_MAX];
	size_t at = whole && w->behind ? w->behind : w->count;
	size_t count = w->chain->cut ? 0 : w->count - at;

	if (w->next == w->chain->count)
		return;
	memcpy(rest, w->places + at, count * sizeof(rest[0]));
	w->count = at;
	while (w->next < w->chain->count)
		weave_add_calls(w);
	memcpy(w->places + w->count, rest, count * sizeof(rest[0]));
	w->count += count;
}

bool interpreter_stack_weave(struct runtimes *runtimes, struct runtime_target *target,
			     const struct interpreter *interpreter, uint64_t hash,
			     struct stack_draft *draft)
{
	const struct stack_draft walk = *draft;
	struct weave w = {
		.runtimes = runtimes,
		.target = target,
		.interpreter = interpreter,
		.chain = runtime_chains_find(&target->chains, hash),
		.places = draft->places,
	};
	bool cut = false;

	if (!w.chain)
		return false;
	memset(draft->places, 0, sizeof(draft->places));
	for (size_t i = 0; i < walk.count && !cut; i++)
		cut = weave_place(&w, &walk.places[i], i);
	if (!cut)
		weave_add_rest(&w, draft->end == STACK_END_COMPLETE);
	if (w.chain->cut)
		draft->end = STACK_END_TRUNCATED;
	draft->count = w.count;
	return true;
}
