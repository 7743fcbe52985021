// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_stack.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_safepoints.h"
#include "user/runtime/runtime_chains.h"
#include "user/runtime/v8/v8_names.h"

/* Of a target. One takes some KB. */
#define CODES_MAX 50000

/* An exit's instructions (x86-64: Deoptimizer::kLazyDeoptExitSize, kEagerDeoptExitSize). */
#define EXIT_BYTES 4

/* ---- code ---------------------------------------------------------------------------------- */

static struct v8_optimised *v8_stack_find(const struct target_v8 *v8, uint64_t code,
					  uint32_t cookie)
{
	struct v8_optimised *found, like = {.key = {.code = code, .cookie = cookie}};

	HASH_FIND(hh, v8->codes, &like.key, sizeof(like.key), found);
	return found;
}

static struct v8_site_call v8_site_call(const struct v8_code_event *event,
					const struct v8_nested *nested)
{
	struct v8_site_call call = {.offset = nested->offset};

	if (nested->builtin && event->maglev)
		return call;
	for (uint32_t i = 0; i < event->inlined_count && i < V8_INLINED_MAX; i++) {
		const struct v8_inlined *inlined = &event->inlined[i];

		if (inlined->literal != nested->literal)
			continue;
		call.code = inlined->code;
		call.cookie = inlined->cookie;
	}
	return call;
}

/* Whose code it is is the outermost function. */
static bool v8_site_is(const struct v8_optimised *code, const struct v8_site_call *calls,
		       size_t count)
{
	return count && calls[0].code == code->key.code && calls[0].cookie == code->function_cookie;
}

/* False: out of memory. */
static bool v8_site_read(struct v8_optimised *code, const struct v8_code_event *event,
			 const struct v8_translations *translations, const int32_t place[6])
{
	struct v8_site *site = &code->sites[code->site_count];
	uint32_t first = code->site_count ? site[-1].first + site[-1].count : 0;
	struct v8_nested nested[V8_NESTED_MAX];
	size_t count = v8_translation_read(translations, (uint32_t)place[3], nested);
	struct v8_site_call *calls =
		reallocarray(code->calls, first + V8_NESTED_MAX, sizeof(*calls));

	if (!calls)
		return false;
	code->calls = calls;
	for (size_t i = 0; i < count; i++)
		calls[first + i] = v8_site_call(event, &nested[i]);
	if (!v8_site_is(code, calls + first, count))
		count = 0;
	*site = (struct v8_site){
		.at = (uint32_t)place[5], .first = first, .count = (uint32_t)count};
	code->site_count++;
	return true;
}

static bool v8_sites_read(struct v8_optimised *code, const struct target_v8 *v8,
			  const struct v8_code_event *event)
{
	const struct v8_translations translations = {.form = &v8->version->form,
						     .bytes = event->bytes + event->places_size,
						     .size = event->translations_size};
	size_t count = event->places_size / V8_DEOPT_PLACE_BYTES;

	/* And what Maglev's table has: an entry is a byte at least. */
	code->sites = calloc(count + event->safepoints_size + 1, sizeof(*code->sites));
	if (!code->sites)
		return false;
	for (size_t i = 0; i < count; i++) {
		int32_t place[6];

		/* A number is in the upper half of a word. */
		memcpy(place, event->bytes + i * V8_DEOPT_PLACE_BYTES, sizeof(place));
		if (!v8_site_read(code, event, &translations, place))
			return false;
	}
	code->exit_count = code->site_count;
	return true;
}

/* A place of Maglev's code says where the exit is: which call returns to where is in its table, with the number of the place. */
static void v8_sites_return(struct v8_optimised *code, const struct v8_code_event *event)
{
	const uint8_t *table = event->bytes + event->places_size + event->translations_size;
	struct v8_safepoint point;

	for (size_t i = 0; v8_safepoint_get(table, event->safepoints_size, i, &point); i++) {
		int64_t number = (int64_t)point.place - event->eager;

		if (number < 0 || (uint64_t)number >= code->exit_count)
			continue;
		code->sites[code->site_count] = code->sites[number];
		code->sites[code->site_count++].at = point.at;
	}
}

void v8_stack_add(struct runtime_target *target, const struct v8_code_event *event)
{
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	struct v8_optimised *code;

	if (!v8 || !v8->version || v8_stack_find(v8, event->code, event->cookie) ||
	    HASH_COUNT(v8->codes) >= CODES_MAX ||
	    (uint64_t)event->places_size + event->translations_size + event->safepoints_size >
		    event->bytes_size)
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	code->key.code = event->code;
	code->key.cookie = event->cookie;
	code->function_cookie = event->function_cookie;
	code->exits = event->exits + event->eager * EXIT_BYTES;
	if (v8_sites_read(code, v8, event)) {
		if (v8->version->maglev)
			v8_sites_return(code, event);
		HASH_ADD(hh, v8->codes, key, sizeof(code->key), code);
		if (code->hh.tbl)
			return;
	}
	v8_optimised_free(code);
}

/* Code that is to be left has its exit for the return address. */
static const struct v8_site *v8_site_at(const struct v8_optimised *code, uint32_t at)
{
	uint32_t exit = (at - code->exits) / EXIT_BYTES;

	for (size_t i = 0; i < code->site_count; i++) {
		if (code->sites[i].at == at)
			return &code->sites[i];
	}
	return at >= code->exits && (at - code->exits) % EXIT_BYTES == 0 && exit < code->exit_count
		       ? &code->sites[exit]
		       : NULL;
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* As it is at that call, if the line of that is known. */
static const struct frame *v8_frame_at(const struct runtimes *runtimes,
				       const struct runtime_target *target,
				       const struct v8_function *function, uint32_t at,
				       bool inlined)
{
	struct frame frame;
	int32_t line;

	if (!function || !function->frame)
		return NULL;
	line = at ? v8_places_find(&function->lines, at) : -1;
	if (line <= 0 && !inlined)
		return function->frame;
	frame = *function->frame;
	if (line > 0) {
		frame.line = (uint32_t)line;
		frame.line_begins = false;
	}
	frame.inlined = inlined;
	return runtimes_keep(runtimes, target, &frame) ?: function->frame;
}

struct v8_weaving {
	const struct runtimes *runtimes;
	const struct runtime_target *target;
	struct stack_draft *draft;
};

static void v8_weave_place(const struct v8_weaving *weaving, const struct stack_place *place)
{
	struct stack_draft *draft = weaving->draft;

	if (draft->count < STACK_DRAFT_MAX)
		draft->places[draft->count++] = *place;
}

/* Innermost first, and the one that is in the frame itself last. */
static void v8_weave_code(const struct v8_weaving *weaving, const struct v8_optimised *code,
			  const struct runtime_call *call, const struct stack_place *place)
{
	const struct target_v8 *v8 = weaving->target->states[RUNTIME_V8];
	const struct v8_site *site = v8_site_at(code, call->at);
	struct stack_place own = *place;
	uint32_t count = site ? site->count : 0;

	for (uint32_t i = count; i; i--) {
		const struct v8_site_call *nested = &code->calls[site->first + i - 1];
		const struct v8_function *function =
			v8_names_find(v8, nested->code, nested->cookie);
		const struct frame *frame =
			v8_frame_at(weaving->runtimes, weaving->target, function,
				    (uint32_t)(nested->offset + 1), i > 1);

		if (i > 1 && frame)
			v8_weave_place(weaving, &(struct stack_place){.frame = frame});
		else if (i == 1)
			own.frame = frame;
	}
	if (!count)
		own.frame = v8_frame_at(weaving->runtimes, weaving->target,
					v8_names_find(v8, code->key.code, code->function_cookie), 0,
					false);
	v8_weave_place(weaving, &own);
}

/* An interpreted function is known by the interpreter's code, which lies in the object. */
static void v8_weave_call(const struct v8_weaving *weaving, const struct runtime_call *call,
			  const struct stack_place *place)
{
	const struct target_v8 *v8 = weaving->target->states[RUNTIME_V8];
	const struct v8_optimised *code = v8_stack_find(v8, call->code, call->cookie);
	const struct v8_function *function;
	struct stack_place own = *place;
	uint32_t at = call->at;

	if (code) {
		v8_weave_code(weaving, code, call, place);
		return;
	}
	function = v8_names_find(v8, call->code, call->cookie);
	if (function && !function->baseline && place->location.object != v8->object)
		at = 0;
	own.frame = v8_frame_at(weaving->runtimes, weaving->target, function, at, false);
	v8_weave_place(weaving, &own);
}

bool v8_stack_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		    const uint64_t *frames, struct stack_draft *draft)
{
	const struct runtime_chain *chain = runtime_chains_find(&target->chains, hash);
	const struct v8_weaving weaving = {runtimes, target, draft};
	struct stack_draft walk;
	uint32_t next = 0;

	if (!chain || !target->states[RUNTIME_V8])
		return false;
	walk = *draft;
	memset(draft->places, 0, sizeof(draft->places));
	draft->count = 0;
	for (size_t i = 0; i < walk.count; i++) {
		const struct runtime_call *call =
			i && next < chain->count ? &chain->calls[next] : NULL;

		if (call && call->place == (uint32_t)frames[i]) {
			next++;
			v8_weave_call(&weaving, call, &walk.places[i]);
		} else {
			v8_weave_place(&weaving, &walk.places[i]);
		}
	}
	return true;
}
