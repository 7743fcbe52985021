// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/inspected_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct inspected_stack {
	struct frame frame;
	const struct frame *frames[1];
	char *label;
};

struct inspected_stacks {
	struct inspected_stack *items;
	size_t count;
};

void inspected_stacks_free(struct inspected_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->count; i++)
		free(stacks->items[i].label);
	free(stacks->items);
	free(stacks);
}

static int inspected_stacks_fill(const struct inspection *inspection,
				 struct inspected_stacks *stacks, struct snapshot *s)
{
	for (size_t i = 0; i < inspection->group_count; i++) {
		const struct inspected_group *group = &inspection->groups[i];
		struct inspected_stack *item = &stacks->items[i];

		item->label = inspected_group_label(group);
		stacks->count = i + 1;
		if (!item->label)
			return -ENOMEM;
		item->frame = (struct frame){.function = item->label, .module = group->module};
		item->frames[0] = &item->frame;
		s->stacks[i] = (struct stack){
			.id = i + 1,
			.live = group->live,
			.frames = item->frames,
			.frame_count = 1,
			.end = STACK_END_COMPLETE,
		};
		s->stack_count = i + 1;
		snapshot_count(s, &s->stacks[i]);
	}
	return 0;
}

int inspected_stacks_new(const struct inspection *inspection, struct inspected_stacks **out,
			 struct snapshot **snapshot)
{
	struct inspected_stacks *stacks = calloc(1, sizeof(*stacks));
	struct snapshot *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (stacks && s) {
		stacks->items = calloc(inspection->group_count + 1, sizeof(*stacks->items));
		s->stacks = calloc(inspection->group_count + 1, sizeof(*s->stacks));
		s->inspected = true;
		s->pid = inspection->pid;
		s->target_id = (uint32_t)inspection->pid;
		s->time_ns = inspection->time_ns;
		s->elapsed_ns = inspection->elapsed_ns;
		memcpy(s->comm, inspection->comm, sizeof(s->comm));
		if (stacks->items && s->stacks)
			err = inspected_stacks_fill(inspection, stacks, s);
	}
	if (err) {
		snapshot_free(s);
		inspected_stacks_free(stacks);
		return err;
	}
	*out = stacks;
	*snapshot = s;
	return 0;
}
