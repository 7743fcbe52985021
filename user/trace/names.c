// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of what a target's stacks and its data are. */
#include <errno.h>

#include "user/stacks/stacks.h"
#include "user/trace/target.h"

struct object_cache *trace_objects(struct trace *trace)
{
	return trace->objects;
}

struct symbolizer *trace_symbolizer(struct trace *trace)
{
	return trace->symbolizer;
}

int trace_name_stack(struct trace *trace, uint32_t target_id, uint64_t stack_id,
		     const struct frame *const **frames, size_t *count)
{
	struct stack_entry *entry = stack_table_find(trace->stacks, target_id, stack_id);
	int err;

	/* In a scope: the frames are those of the stack itself. */
	if (entry && entry->same_as && !entry->count)
		entry = stack_table_find(trace->stacks, target_id, entry->same_as);
	if (!entry)
		return 0; /* id 0, or its frames were lost: shown as a stack without frames */
	err = stack_entry_name(entry, trace->symbolizer);
	if (err)
		return err;
	*frames = entry->frames;
	*count = entry->frame_count;
	return 0;
}

int trace_name_data(struct trace *trace, struct target *target, const struct mapping *file,
		    uint64_t address, const char **name, uint64_t *offset, uint64_t *vaddr)
{
	struct object *object;
	uint64_t at;
	int err = object_cache_get(trace->objects, target->pid, file, &object);

	*name = NULL;
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	/* All of an object is moved by the same distance, .bss too, which is in no file. */
	err = object_offset_to_vaddr(object, file->offset, &at);
	if (!err) {
		*vaddr = address - file->start + at;
		err = symbolizer_name_data(trace->symbolizer, object, *vaddr, target->pid, name,
					   offset);
	}
	object_unref(object);
	return err;
}
