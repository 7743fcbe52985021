// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/java_names.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/hotspot_abi.h"
#include "user/base/hash.h"
#include "user/base/util.h"
#include "user/runtime/java/hotspot_code.h"
#include "user/runtime/java/java_rows.h"
#include "user/runtime/runtime_chains.h"
#include "user/runtime/java/target_java.h"

/* Of a target. A name takes some 100 bytes more, once. */
#define NAMES_MAX 1000000

static const struct java_code *java_names_find(const struct target_java *java,
					       const struct runtime_call *call)
{
	struct java_code *code = NULL;

	if (java)
		HASH_FIND(hh, java->codes, call, sizeof(*call), code);
	return code;
}

struct java_naming {
	const struct runtimes *runtimes;
	const struct runtime_target *target;
	size_t count;
	const struct frame *frames[HOTSPOT_INLINED_MAX];
};

static void java_name(void *ctx, const struct hotspot_place *place)
{
	struct java_naming *naming = ctx;
	struct frame frame =
		frame_managed(FRAME_KIND_JAVA, place->function, place->file, place->line);
	const struct frame *kept;

	frame.inlined = place->inlined;
	kept = runtimes_keep(naming->runtimes, naming->target, &frame);
	if (kept && naming->count < HOTSPOT_INLINED_MAX)
		naming->frames[naming->count++] = kept;
}

/* False: it has no name. */
static bool java_names_add(const struct runtimes *runtimes, struct runtime_target *target,
			   struct java_memory *memory, const struct runtime_call *call)
{
	struct java_naming naming = {.runtimes = runtimes, .target = target};
	struct target_java *java = target->states[RUNTIME_JVM];
	struct java_code *code;

	if (HASH_COUNT(java->codes) >= NAMES_MAX ||
	    hotspot_code_places(&java->layout, &memory->memory, call, java_name, &naming) ||
	    !naming.count)
		return false;
	code = calloc(1, sizeof(*code) + naming.count * sizeof(code->frames[0]));
	if (!code)
		return false;
	code->call = *call;
	code->count = naming.count;
	memcpy(code->frames, naming.frames, naming.count * sizeof(code->frames[0]));
	HASH_ADD(hh, java->codes, call, sizeof(code->call), code);
	if (code->hh.tbl)
		return true;
	free(code);
	return false;
}

void java_names_read(struct runtimes *runtimes, struct runtime_target *target,
		     const struct runtime_chain_event *chain)
{
	bool ready = java_rows_ready(runtimes, target), tried = false, open = false;
	struct target_java *java = target->states[RUNTIME_JVM];
	struct java_memory memory;

	for (uint32_t i = 0; java && i < chain->count && i < RUNTIME_MAX_CALLS; i++) {
		const struct runtime_call *call = &chain->calls[i];

		/* What the kernel's side has not found out it has counted. */
		if (!call->code || java_names_find(java, call))
			continue;
		if (!tried)
			open = ready && !java_memory_open(&memory, target);
		tried = true;
		java->unnamed += !open || !java_names_add(runtimes, target, &memory, call);
	}
	if (open)
		java_memory_close(&memory);
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Does the kernel's side take it for code of the JVM's? */
static bool java_is_code(const struct target_java *java, const struct location *location)
{
	if (location->object)
		return false;
	for (size_t i = 0; i < HOTSPOT_HEAPS; i++) {
		const struct hotspot_heap *heap = &java->row.heaps[i];

		if (location->offset >= heap->start && location->offset < heap->end)
			return true;
	}
	return false;
}

bool java_names_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		      const uint64_t *frames, struct stack_draft *draft)
{
	const struct runtime_chain *chain = runtime_chains_find(&target->chains, hash);
	const struct target_java *java = target->states[RUNTIME_JVM];
	struct stack_draft walk;
	uint32_t next = 0;
	size_t n = 0;

	(void)runtimes;
	(void)frames;
	if (!chain || !java)
		return false;
	walk = *draft;
	memset(draft->places, 0, sizeof(draft->places));
	for (size_t i = 0; i < walk.count; i++) {
		const struct stack_place *place = &walk.places[i];
		const struct java_code *code = NULL;

		/* One call for each frame there, in order. */
		if (i && next < chain->count && java_is_code(java, &place->location))
			code = java_names_find(java, &chain->calls[next++]);
		for (size_t k = 0; code && k < code->count && n < JAVA_STACK_MAX; k++)
			draft->places[n++].frame = code->frames[k];
		if (!code && n < JAVA_STACK_MAX)
			draft->places[n++] = *place;
	}
	draft->count = n;
	return true;
}

void java_names_count(struct runtimes *runtimes, struct runtime_target *target,
		      const struct stack_draft *draft)
{
	struct target_java *java;

	/* Where all is in files there is nothing to be asked. */
	for (size_t i = 1; i < draft->count; i++) {
		const struct location *location = &draft->places[i].location;

		if (location->object || !java_rows_ready(runtimes, target))
			continue;
		java = target->states[RUNTIME_JVM];
		java->unnamed += java_is_code(java, location);
	}
}
