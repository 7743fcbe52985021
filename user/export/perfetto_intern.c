// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Strings, frames and call stacks of a Perfetto heap profile, each written once per sequence. */
#include "user/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The interned number of a key, 0 only for key 0; *fresh: it has to be written. */
static uint64_t intern(struct perfetto *p, struct id_map *map, uint64_t key, bool *fresh)
{
	uint32_t iid = (uint32_t)map->count + 1;

	*fresh = key && !id_map_get(map, key, &iid);
	if (*fresh && id_map_put(map, key, iid))
		p->out.failed = true;
	return key ? iid : 0;
}

static uint64_t intern_string(struct perfetto *p, struct id_map *map, unsigned field, uint32_t id)
{
	bool fresh;
	uint64_t iid = intern(p, map, id, &fresh);

	if (fresh) {
		size_t len, mark = wire_open(&p->out, field);
		const char *text = frame_table_string_at(p->table, id, &len);

		wire_uint(&p->out, INTERNED_IID, iid);
		if (field == INTERNED_BUILD_IDS) /* bytes, and no text */
			wire_bytes(&p->out, INTERNED_STRING, text, len);
		else
			wire_put_name(&p->out, INTERNED_STRING, text);
		wire_close(&p->out, mark);
	}
	return iid;
}

/*
 * Every frame must have a mapping; code without a file, and what is no code, gets one without a
 * build-id.
 */
static uint64_t intern_mapping(struct perfetto *p, struct perfetto_heap *h, uint32_t path,
			       uint32_t build_id)
{
	uint64_t path_iid, build_iid, iid;
	bool fresh;
	size_t mark;

	if (!path && frame_table_string(p->table, "[anon]", &path))
		p->out.failed = true;
	path_iid = intern_string(p, &h->paths, INTERNED_MAPPING_PATHS, path);
	build_iid = intern_string(p, &h->build_ids, INTERNED_BUILD_IDS, build_id);
	iid = intern(p, &h->mappings, (uint64_t)path << 32 | build_id, &fresh);
	if (!fresh)
		return iid;
	mark = wire_open(&p->out, INTERNED_MAPPINGS);
	wire_uint(&p->out, INTERNED_IID, iid);
	if (build_iid)
		wire_uint(&p->out, MAPPING_BUILD_ID, build_iid);
	wire_uint(&p->out, MAPPING_PATH, path_iid);
	wire_close(&p->out, mark);
	return iid;
}

static uint64_t intern_frame(struct perfetto *p, struct perfetto_heap *h, uint32_t number)
{
	const struct frame *frame = frame_table_frame_at(p->table, number);
	const struct frame_strings *strings = frame_table_strings_of(p->table, number);
	uint32_t path = strings->module_path ? strings->module_path : strings->module;
	char label[FRAME_LABEL_MAX], runtime[FRAME_RUNTIME_MAX];
	uint64_t iid, function, file, mapping;
	uint32_t name;
	bool fresh;
	size_t mark;

	iid = intern(p, &h->frames, number, &fresh);
	if (!fresh)
		return iid;
	if (frame_table_string(p->table, frame_label(frame, label), &name) ||
	    (frame_runtime(frame, runtime) && frame_table_string(p->table, runtime, &path))) {
		p->out.failed = true;
		return iid;
	}
	function = intern_string(p, &h->functions, INTERNED_FUNCTION_NAMES, name);
	file = intern_string(p, &h->files, INTERNED_SOURCE_PATHS, strings->file);
	mapping = intern_mapping(p, h, path, strings->build_id);
	mark = wire_open(&p->out, INTERNED_FRAMES);
	wire_uint(&p->out, INTERNED_IID, iid);
	wire_uint(&p->out, FRAME_FUNCTION, function);
	wire_uint(&p->out, FRAME_MAPPING, mapping);
	if (frame_is_code(frame))
		wire_uint(&p->out, FRAME_REL_PC, frame->module_offset);
	if (file) {
		wire_uint(&p->out, FRAME_SOURCE_PATH, file);
		if (frame->line)
			wire_uint(&p->out, FRAME_LINE, frame->line);
	}
	wire_close(&p->out, mark);
	return iid;
}

/* A frame that is no code. */
static uint32_t label_frame(struct perfetto *p, const char *label)
{
	const struct frame frame = {.function = label};
	uint32_t number = 0;

	if (frame_table_frame(p->table, &frame, &number))
		p->out.failed = true;
	return number;
}

static void put_callstack(struct perfetto *p, struct perfetto_heap *h, uint64_t iid,
			  uint32_t frames, enum stack_end end)
{
	const char *label = frames ? stack_end_label(end) : STACK_UNKNOWN_LABEL;
	uint32_t label_number = label ? label_frame(p, label) : 0;
	const uint32_t *numbers = NULL;
	size_t count = 0, mark;

	if (frames)
		numbers = frame_table_stack_ids(p->table, frames, &count);
	if (label_number)
		intern_frame(p, h, label_number);
	for (size_t i = 0; i < count; i++)
		intern_frame(p, h, numbers[i]);
	mark = wire_open(&p->out, INTERNED_CALLSTACKS);
	wire_uint(&p->out, INTERNED_IID, iid);
	/* Root first, and not packed: proto2. */
	if (label_number)
		wire_uint(&p->out, CALLSTACK_FRAMES, intern_frame(p, h, label_number));
	while (count-- > 0)
		wire_uint(&p->out, CALLSTACK_FRAMES, intern_frame(p, h, numbers[count]));
	wire_close(&p->out, mark);
}

static int perfetto_make_room(struct perfetto_heap *h)
{
	size_t room = h->room ? 2 * h->room : 256;
	struct perfetto_written *written = reallocarray(h->written, room, sizeof(*written)), *now;

	h->written = written ? written : h->written;
	now = reallocarray(h->now, room, sizeof(*now));
	h->now = now ? now : h->now;
	if (!written || !now)
		return -ENOMEM;
	memset(written + h->room, 0, (room - h->room) * sizeof(*written));
	memset(now + h->room, 0, (room - h->room) * sizeof(*now));
	h->room = room;
	return 0;
}

static void add_all(struct perfetto_written *to, const struct stack *stack)
{
	amount_add(&to->alloc, &stack->alloc);
	/* Estimates under sampling are rounded one by one: what has to be right is live. */
	to->free.bytes += stack->alloc.bytes - stack->live.bytes;
	to->free.count += stack->alloc.count - stack->live.count;
}

/*
 * What is hidden now, and was not before, has no live blocks any more for whoever looks at the
 * trace.
 */
static bool is_in(const struct perfetto_heap *h, const struct stack *stack, bool hidden)
{
	return !hidden && (h->kind == HEAP_ALL || stack->verdict[h->kind].count);
}

/* Sums up what the call stacks have now, and writes those that are new. */
int perfetto_intern_stacks(struct perfetto *p, struct perfetto_heap *h, const struct report *r)
{
	const struct snapshot *s = r->snapshot;

	if (h->room)
		memset(h->now, 0, h->room * sizeof(*h->now));
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];
		enum stack_end end = stack->truncated ? STACK_END_TRUNCATED : stack->end;
		uint32_t frames;
		uint64_t iid;
		bool fresh;
		int err;

		if (!is_in(h, stack, r->notes[i].hidden))
			continue;
		err = collect_frames(p->table, &h->frames_of, stack, &r->notes[i], &frames);
		if (err)
			return err;
		/* All whose frames are not known are one, and no end tells them apart. */
		iid = intern(p, &h->stacks, frames ? (uint64_t)frames << 8 | end : 1, &fresh);
		if (fresh)
			put_callstack(p, h, iid, frames, end);
		if (iid > h->room && perfetto_make_room(h))
			return -ENOMEM;
		if (h->kind == HEAP_ALL)
			add_all(&h->now[iid - 1], stack);
		else /* what was in the class and is no more counts as freed: keep_rising() */
			amount_add(&h->now[iid - 1].alloc, &stack->verdict[h->kind]);
	}
	return 0;
}
