// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/stacks/stacks.h"

#include <errno.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/model/frame_table.h"

#define STACK_NAME_MAX 4096 /* as of the symbolizer's strings */

struct stack_node {
	struct stack_entry entry;
	UT_hash_handle hh;
	struct stack_place places[];
};

/* What runtimes have named in a target. */
struct stack_frames {
	uint32_t target_id;
	struct frame_table *table;
	UT_hash_handle hh;
};

struct stack_table {
	struct stack_node *nodes;
	struct stack_frames *frames; /* of targets that have any */
};

struct stack_table *stack_table_new(void)
{
	return calloc(1, sizeof(struct stack_table));
}

static void stack_node_remove(struct stack_table *table, struct stack_node *node)
{
	HASH_DEL(table->nodes, node);
	free(node->entry.frames);
	free(node);
}

static void stack_frames_remove(struct stack_table *table, struct stack_frames *frames)
{
	HASH_DEL(table->frames, frames);
	frame_table_free(frames->table);
	free(frames);
}

void stack_table_free(struct stack_table *table)
{
	struct stack_node *node, *next;
	struct stack_frames *frames, *next_frames;

	if (!table)
		return;
	HASH_ITER (hh, table->nodes, node, next)
		stack_node_remove(table, node);
	HASH_ITER (hh, table->frames, frames, next_frames)
		stack_frames_remove(table, frames);
	free(table);
}

static struct stack_node *stack_node_find(const struct stack_table *table, uint32_t target_id,
					  uint64_t stack_id)
{
	struct stack_key key = {.stack_id = stack_id, .target_id = target_id};
	struct stack_node *node;

	HASH_FIND(hh, table->nodes, &key, sizeof(key), node);
	return node;
}

struct stack_entry *stack_table_add(struct stack_table *table, uint32_t target_id,
				    uint64_t stack_id, size_t count, bool *fresh)
{
	struct stack_node *node = stack_node_find(table, target_id, stack_id);

	*fresh = !node;
	if (node)
		return &node->entry;
	node = calloc(1, sizeof(*node) + count * sizeof(node->places[0]));
	if (!node)
		return NULL;
	node->entry.key = (struct stack_key){.stack_id = stack_id, .target_id = target_id};
	node->entry.count = (uint16_t)count;
	node->entry.places = node->places;
	HASH_ADD(hh, table->nodes, entry.key, sizeof(node->entry.key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	return &node->entry;
}

struct stack_entry *stack_table_find(const struct stack_table *table, uint32_t target_id,
				     uint64_t stack_id)
{
	struct stack_node *node = stack_node_find(table, target_id, stack_id);

	return node ? &node->entry : NULL;
}

bool stack_table_finish(struct stack_table *table, uint32_t target_id, uint64_t provisional_id,
			uint64_t stack_id, uint8_t end)
{
	bool fresh;
	struct stack_entry *entry = stack_table_add(table, target_id, provisional_id, 0, &fresh);

	if (!entry)
		return false;
	if (fresh && provisional_id != stack_id) {
		entry->same_as = stack_id;
		entry->same_end = end;
	}
	return true;
}

/* ---- frames that have come with their names -------------------------------------------------- */

static struct stack_frames *stack_frames_find(const struct stack_table *table, uint32_t target_id)
{
	struct stack_frames *frames;

	HASH_FIND(hh, table->frames, &target_id, sizeof(target_id), frames);
	return frames;
}

static struct stack_frames *stack_frames_get(struct stack_table *table, uint32_t target_id)
{
	struct stack_frames *frames = stack_frames_find(table, target_id);

	if (frames)
		return frames;
	frames = calloc(1, sizeof(*frames));
	if (!frames)
		return NULL;
	frames->target_id = target_id;
	frames->table = frame_table_new();
	if (frames->table)
		HASH_ADD(hh, table->frames, target_id, sizeof(frames->target_id), frames);
	if (frames->table && frames->hh.tbl)
		return frames;
	frame_table_free(frames->table);
	free(frames);
	return NULL;
}

/* No text, or an empty one, is unknown. */
static const char *stack_clean_name(char to[static STACK_NAME_MAX], const char *text)
{
	return text && text_copy(to, STACK_NAME_MAX, text, strlen(text), &text_for_terminal) ? to
											     : NULL;
}

const struct frame *stack_table_keep_frame(struct stack_table *table, uint32_t target_id,
					   const struct frame *frame)
{
	struct stack_frames *frames = stack_frames_get(table, target_id);
	char function[STACK_NAME_MAX], file[STACK_NAME_MAX];
	struct frame clean;
	uint32_t id;

	if (!frames)
		return NULL;
	clean = frame_managed(frame->kind, stack_clean_name(function, frame->function),
			      stack_clean_name(file, frame->file), frame->line);
	clean.inlined = frame->inlined;
	clean.line_begins = clean.line && frame->line_begins;
	if (frame_table_frame(frames->table, &clean, &id))
		return NULL;
	return frame_table_frame_at(frames->table, id);
}

/* ---- names -------------------------------------------------------------------------------- */

/* Code without a file, of which its runtime has said what it is. */
static bool stack_place_is_jit(const struct stack_place *place)
{
	return place->frame && !place->location.object && place->location.offset;
}

static int stack_place_name(const struct stack_entry *entry, size_t i,
			    struct symbolizer *symbolizer, const struct frame *const **frames,
			    size_t *count)
{
	const struct stack_place *place = &entry->places[i];

	if (!place->frame || stack_place_is_jit(place)) {
		int err = symbolizer_resolve(symbolizer, &place->location, entry->pid, i > 0,
					     frames, count);

		/* A perf map says more than the runtime's own words do. */
		if (err || !place->frame || (*frames)[*count - 1]->function)
			return err;
	}
	*frames = &place->frame;
	*count = 1;
	return 0;
}

int stack_entry_name(struct stack_entry *entry, struct symbolizer *symbolizer)
{
	_cleanup_free_ const struct frame **frames = NULL;
	size_t count = 0, room = 0;

	if (entry->frames)
		return 0;
	for (size_t i = 0; i < entry->count; i++) {
		const struct frame *const *part, **grown;
		size_t n;
		int err = stack_place_name(entry, i, symbolizer, &part, &n);

		if (err)
			return err;
		/* The probe is in the allocator's own code: what is inlined there is no caller. */
		if (i == 0) {
			part += n - 1;
			n = 1;
		}
		/* Most places are one frame each; there may be very many stacks. */
		if (count + n > room) {
			room = count + n + (entry->count - i);
			grown = reallocarray(frames, room, sizeof(*frames));
			if (!grown)
				return -ENOMEM;
			frames = grown;
		}
		memcpy(frames + count, part, n * sizeof(*frames));
		count += n;
	}
	if (count && entry->allocator) {
		entry->first = *frames[0];
		entry->first.function = entry->allocator;
		entry->first.inlined = false;
		frames[0] = &entry->first;
	}
	entry->frames = TAKE_PTR(frames);
	entry->frame_count = count;
	return 0;
}

void stack_table_remove_target(struct stack_table *table, uint32_t target_id)
{
	struct stack_frames *frames = stack_frames_find(table, target_id);
	struct stack_node *node, *next;

	HASH_ITER (hh, table->nodes, node, next) {
		if (node->entry.key.target_id == target_id)
			stack_node_remove(table, node);
	}
	if (frames)
		stack_frames_remove(table, frames);
}
