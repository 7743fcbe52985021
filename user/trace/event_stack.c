// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/event_stack.h"

#include <errno.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/gate/leftover.h"
#include "user/patch/guarded.h"
#include "user/probe/probe.h"
#include "user/stacks/stacks.h"
#include "user/trace/known_objects.h"
#include "user/trace/runtime_host.h"
#include "user/trace/target_mappings.h"
#include "user/trace/target_patches.h"
#include "user/trace/target_runtimes.h"
#include "user/unwind/finish.h"

static void event_locate(struct target *target, uint64_t address, struct location *out,
			 bool *refreshed)
{
	if (image_locate(target->image, address, out))
		return;
	/* A mapping that was there before the watch, or whose record was lost. */
	if (!*refreshed) {
		*refreshed = true;
		image_fill(target->image);
		if (image_locate(target->image, address, out))
			return;
	}
	*out = (struct location){.offset = address};
}

/* Frame 0 is the allocator function, not the instruction in it that the probe happens to sit on. */
static void event_name_allocator(struct trace *trace, struct stack_entry *entry)
{
	struct location *first = &entry->places[0].location;
	const struct probe_set *set =
		entry->count ? known_probes_of(trace, first->object, KNOWN_ALLOCATOR) : NULL;

	if (!set)
		return;
	entry->allocator = probe_set_name_at(set, first->offset);
	first->offset = probe_set_entry_at(set, first->offset);
}

/* The stack of an arena: its first frame says so. False: it is like any other. */
static bool event_name_arena(struct trace *trace, struct target *target, struct stack_entry *entry)
{
	const struct frame *frame =
		entry->count ? pool_rows_frame(trace->runtimes, target_runtimes(target)) : NULL;

	if (frame)
		entry->places[0].frame = frame;
	return frame != NULL;
}

static bool event_is_in_function(const struct probe_set *set, uint64_t offset)
{
	for (size_t i = 0; i < set->provider->count; i++) {
		const struct provider_fn *fn = &set->provider->fns[i];

		if (offset >= fn->offset && offset - fn->offset < fn->size)
			return true;
	}
	return false;
}

/*
 * Is the stack one of an allocator that is built on another one (an LD_PRELOADed malloc that adds a
 * header)? Probes know that the inner call is inside of the outer one. Gates of two allocators do
 * not know of each other: then the stack tells.
 */
static bool event_is_nested(const struct trace *trace, const struct target *target,
			    const struct location *locations, size_t count)
{
	if (!target->layered || !target->has_gate)
		return false;
	for (size_t i = 1; i < count; i++) {
		const struct probe_set *set =
			known_probes_of(trace, locations[i].object, KNOWN_ALLOCATOR);

		/* Return addresses: the call is before them. */
		if (set && locations[i].object != locations[0].object &&
		    event_is_in_function(set, locations[i].offset - 1))
			return true;
	}
	return false;
}

/*
 * Removes a gate's stub from the frames, which may have called a guard's stub and is nobody's
 * function. So the stack is the same as where functions jump to the guard. Returns how many frames
 * are left, whose addresses are in `frames`.
 */
static size_t event_drop_gate(const struct target *target, struct location *locations,
			      uint64_t *frames, size_t count)
{
	size_t n = 0;

	if (!guarded_is(target->patched) || !target->has_gate)
		return count;
	for (size_t i = 0; i < count; i++) {
		const struct object *object = locations[i].object;

		if (object && !strcmp(object_path(object), GATE_PATH))
			continue;
		frames[n] = frames[i];
		locations[n++] = locations[i];
	}
	return n;
}

/* Of the places, as the kernel's are made; or what is made of it elsewhere. */
static uint64_t event_stack_id(const struct trace *trace, const struct stack_event *event,
			       const struct location *locations, size_t count, size_t found)
{
	/* The kernel side may not have known what is mapped there: bpf/walk.h. */
	if (trace->options.old || count != found)
		return unwind_stack_id(locations, count, event->end);
	return runtime_stack_id(0, &event->runtime) != 0 ? event->walk_id : event->stack_id;
}

void event_handle_stack(struct trace *trace, const struct stack_event *event)
{
	struct target *target = target_by_id(trace, event->header.target_id);
	size_t found = event->frame_count <= ABI_MAX_FRAMES ? event->frame_count : ABI_MAX_FRAMES;
	struct location locations[ABI_MAX_FRAMES];
	uint64_t frames[ABI_MAX_FRAMES];
	struct stack_draft draft = {.end = event->end};
	bool refreshed = false, fresh;
	struct stack_entry *entry;
	size_t count;
	uint64_t id;

	if (!target)
		return;
	for (size_t i = 0; i < found; i++)
		event_locate(target, event->frames[i], &locations[i], &refreshed);
	memcpy(frames, event->frames, found * sizeof(frames[0]));
	count = event_drop_gate(target, locations, frames, found);
	id = event_stack_id(trace, event, locations, count, found);
	for (draft.count = 0; draft.count < count; draft.count++)
		draft.places[draft.count].location = locations[draft.count];
	if (runtimes_weave(trace->runtimes, target_runtimes(target), &event->runtime, frames,
			   &draft))
		id = stack_places_id(draft.places, draft.count, draft.end);
	entry = stack_table_add(trace->stacks, target->id, id, draft.count, &fresh);
	if (entry && fresh) {
		entry->pid = target->pid;
		memcpy(entry->places, draft.places, draft.count * sizeof(draft.places[0]));
		entry->nested = event_is_nested(trace, target, locations, count);
		if (!event->arena || !event_name_arena(trace, target, entry))
			event_name_allocator(trace, entry);
	}
	if (entry && id != event->stack_id)
		stack_table_finish(trace->stacks, target->id, event->stack_id, id, draft.end);
}

static int event_finish_copy(struct trace *trace, const struct target *target,
			     const struct stack_copy_event *copy, struct stack_event *out)
{
	int err = target_walk_here(trace, target);

	return err ? err : unwind_finish_copy(trace->unwind, copy, trace->options.max_frames, out);
}

/*
 * The kernel met code that it had no tables for: the record of its mapping has been handled just
 * before, so now there are some. What comes out is entered under the id that it would have had.
 */
void event_handle_stack_copy(struct trace *trace, const struct stack_copy_event *copy)
{
	struct target *target = target_by_id(trace, copy->stack.header.target_id);
	struct stack_event event;
	bool runs;
	int err;

	if (!target)
		return;
	err = event_finish_copy(trace, target, copy, &event);
	if (err == -ENOENT && !image_fill(target->image))
		err = event_finish_copy(trace, target, copy, &event);
	if (err) {
		log_debug("process %d: a stack ends in unknown code at 0x%llx: %s", target->pid,
			  (unsigned long long)copy->pc, strerror(-err));
		event_handle_stack(trace, &copy->stack);
		return;
	}
	event.walk_id = event.stack_id;
	event.runtime = copy->stack.runtime;
	event.arena = copy->stack.arena;
	/* Then what it is is known only with the functions' names. */
	runs = runtime_stack_id(0, &event.runtime) != 0;
	if (runs)
		event.stack_id = copy->stack.stack_id;
	event_handle_stack(trace, &event);
	if (!runs)
		stack_table_finish(trace->stacks, target->id, copy->stack.stack_id, event.stack_id,
				   event.end);
}
