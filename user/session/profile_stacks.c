// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/profile_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

struct profile_stacks {
	struct frame *frames;
	const struct frame **lists; /* of all stacks, one behind the other */
	char comm[17];
};

void profile_stacks_free(struct profile_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->frames);
	free(stacks->lists);
	free(stacks);
}

static void profile_count(const struct inspection *inspection, size_t *samples, size_t *frames)
{
	*samples = *frames = 0;
	for (size_t i = 0; i < inspection->managed_count; i++) {
		const struct managed_heap *heap = &inspection->managed[i];

		*samples += heap->sample_count;
		for (size_t n = 0; n < heap->sample_count; n++)
			*frames += heap->samples[n].frame_count;
	}
}

static void profile_fill(const struct inspection *inspection, struct profile_stacks *stacks,
			 struct snapshot *s)
{
	size_t used = 0;

	for (size_t i = 0; i < inspection->managed_count; i++) {
		const struct managed_heap *heap = &inspection->managed[i];

		for (size_t n = 0; n < heap->sample_count; n++) {
			const struct managed_sample *sample = &heap->samples[n];
			struct stack *stack = &s->stacks[s->stack_count++];

			*stack = (struct stack){
				.id = s->stack_count,
				.live = managed_sample_scaled(heap, &sample->live),
				.alloc = managed_sample_scaled(heap, &sample->alloc),
				.frames = &stacks->lists[used],
				.frame_count = sample->frame_count,
				.end = STACK_END_COMPLETE,
			};
			for (size_t f = 0; f < sample->frame_count; f++, used++) {
				const struct managed_frame *frame = &sample->frames[f];

				stacks->frames[used] = (struct frame){
					.kind = FRAME_KIND_GO,
					.function = frame->function,
					.file = frame->file,
					.line = frame->line,
					.module = *stacks->comm ? stacks->comm : NULL,
				};
				stacks->lists[used] = &stacks->frames[used];
			}
			snapshot_count(s, stack);
		}
	}
}

int profile_stacks_new(const struct inspection *inspection, struct profile_stacks **out,
		       struct report **report)
{
	struct profile_stacks *stacks = calloc(1, sizeof(*stacks));
	struct snapshot *s = calloc(1, sizeof(*s));
	size_t samples, frames;

	profile_count(inspection, &samples, &frames);
	if (stacks && s) {
		stacks->frames = calloc(frames + 1, sizeof(*stacks->frames));
		stacks->lists = calloc(frames + 1, sizeof(*stacks->lists));
		s->stacks = calloc(samples + 1, sizeof(*s->stacks));
	}
	if (!s || !stacks || !stacks->frames || !stacks->lists || !s->stacks) {
		snapshot_free(s);
		profile_stacks_free(stacks);
		return -ENOMEM;
	}
	memcpy(stacks->comm, inspection->comm, sizeof(inspection->comm));
	memcpy(s->comm, inspection->comm, sizeof(s->comm));
	s->pid = inspection->pid;
	s->target_id = (uint32_t)inspection->pid;
	s->time_ns = inspection->time_ns;
	s->elapsed_ns = inspection->elapsed_ns;
	profile_fill(inspection, stacks, s);
	*report = report_new(s);
	if (!*report) {
		profile_stacks_free(stacks);
		return -ENOMEM;
	}
	*out = stacks;
	return 0;
}
