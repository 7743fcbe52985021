// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/stacks/stack_draft.h"

#include <string.h>

#include "bpf/unwind.h"
#include "user/base/fnv.h"
#include "user/process/object.h"

static uint64_t stack_mix_text(uint64_t id, const char *text)
{
	return unwind_mix_ids(text ? fnv1a(id, text, strlen(text)) : id, 1);
}

uint64_t stack_places_id(const struct stack_place *places, size_t count, uint8_t end)
{
	uint64_t id = end;

	for (size_t i = 0; i < count; i++) {
		const struct stack_place *place = &places[i];

		if (place->frame) {
			id = stack_mix_text(id, place->frame->function);
			id = stack_mix_text(id, place->frame->file);
			id = unwind_mix_ids(id, (uint64_t)place->frame->line_begins << 32 |
							place->frame->line);
		} else {
			const struct object *object = place->location.object;

			id = unwind_mix_ids(id, object ? object_id(object) : 0);
			id = unwind_mix_ids(id, place->location.offset);
		}
	}
	return id ?: 1;
}

void stack_draft_limit(struct stack_draft *draft, size_t most)
{
	if (draft->count <= most)
		return;
	draft->count = most;
	draft->end = STACK_END_TRUNCATED;
}
