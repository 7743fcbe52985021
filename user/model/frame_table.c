// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/frame_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/fnv.h"
#include "user/base/util.h"
#include "user/model/id_map.h"

#define FIRST_ROOM  256
#define MAX_ENTRIES (1u << 28)

struct text {
	size_t len;
	char bytes[];
};

struct frame_entry {
	struct frame frame;
	struct frame_strings strings;
};

struct stack_entry {
	size_t count;
	const struct frame **frames; /* behind the ids */
	uint32_t ids[];
};

/* Items of one kind, and a hash table of their numbers. */
struct table {
	void **items;
	uint64_t *hashes;
	uint32_t *slots;    /* 0: free */
	size_t count, room; /* room for items; twice as many slots */
};

struct frame_table {
	struct table strings, frames, stacks;
};

typedef bool (*equal_fn)(const void *item, const void *key);

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->items[i]);
	free(t->items);
	free(t->hashes);
	free(t->slots);
}

static uint32_t *slot_of(const struct table *t, uint64_t hash, equal_fn equal, const void *key)
{
	size_t mask = 2 * t->room - 1, i = (size_t)hash & mask;

	for (;; i = (i + 1) & mask) {
		uint32_t id = t->slots[i];

		if (!id || (t->hashes[id - 1] == hash && equal(t->items[id - 1], key)))
			return &t->slots[i];
	}
}

static uint32_t table_find(const struct table *t, uint64_t hash, equal_fn equal, const void *key)
{
	return t->room ? *slot_of(t, hash, equal, key) : 0;
}

static bool never_equal(const void *item, const void *key)
{
	(void)item;
	(void)key;
	return false;
}

static int table_grow(struct table *t)
{
	size_t room = t->room ? 2 * t->room : FIRST_ROOM;
	uint32_t *slots = calloc(2 * room, sizeof(*slots));
	void **items = reallocarray(t->items, room, sizeof(*items));
	uint64_t *hashes;

	t->items = items ? items : t->items;
	hashes = reallocarray(t->hashes, room, sizeof(*hashes));
	t->hashes = hashes ? hashes : t->hashes;
	if (!slots || !items || !hashes) {
		free(slots);
		return -ENOMEM;
	}
	free(t->slots);
	t->slots = slots;
	t->room = room;
	for (size_t i = 0; i < t->count; i++)
		*slot_of(t, t->hashes[i], never_equal, NULL) = (uint32_t)(i + 1);
	return 0;
}

/* Takes the item, which is not in the table yet, over; also on failure. */
static int table_add(struct table *t, uint64_t hash, void *item, uint32_t *id)
{
	int err = item ? 0 : -ENOMEM;

	if (!err && t->count >= MAX_ENTRIES)
		err = -E2BIG;
	if (!err && t->count == t->room)
		err = table_grow(t);
	if (err) {
		free(item);
		return err;
	}
	t->items[t->count] = item;
	t->hashes[t->count++] = hash;
	*id = (uint32_t)t->count;
	*slot_of(t, hash, never_equal, NULL) = *id;
	return 0;
}

/* Goes by words of 8 bytes where there are any. */
static uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t hash = FNV1A_BASIS, word;

	for (; len >= sizeof(word); len -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = id_map_mix(hash ^ word);
	}
	return id_map_mix(fnv1a(hash, bytes, len));
}

struct frame_table *frame_table_new(void)
{
	return calloc(1, sizeof(struct frame_table));
}

void frame_table_free(struct frame_table *table)
{
	if (!table)
		return;
	table_free(&table->strings);
	table_free(&table->frames);
	table_free(&table->stacks);
	free(table);
}

/* ---- strings ------------------------------------------------------------------------------ */

struct text_key {
	const void *data;
	size_t len;
};

static bool text_equal(const void *item, const void *key)
{
	const struct text *text = item;
	const struct text_key *wanted = key;

	return text->len == wanted->len && !memcmp(text->bytes, wanted->data, text->len);
}

int frame_table_bytes(struct frame_table *table, const void *data, size_t len, uint32_t *id)
{
	const struct text_key key = {data, len};
	uint64_t hash = hash_bytes(data, len);
	struct text *text;

	*id = table_find(&table->strings, hash, text_equal, &key);
	if (*id)
		return 0;
	text = malloc(sizeof(*text) + len + 1);
	if (text) {
		text->len = len;
		memcpy(text->bytes, data, len);
		text->bytes[len] = '\0';
	}
	return table_add(&table->strings, hash, text, id);
}

int frame_table_string(struct frame_table *table, const char *text, uint32_t *id)
{
	*id = 0;
	return text ? frame_table_bytes(table, text, strlen(text), id) : 0;
}

const char *frame_table_string_at(const struct frame_table *table, uint32_t id, size_t *len)
{
	const struct text *text = id ? table->strings.items[id - 1] : NULL;

	if (len)
		*len = text ? text->len : 0;
	return text ? text->bytes : NULL;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* The frame's strings are the table's own by now, so equal ones have the same number. */
static bool frame_equal(const void *item, const void *key)
{
	const struct frame_entry *a = item, *b = key;

	return !memcmp(&a->strings, &b->strings, sizeof(a->strings)) &&
	       a->frame.kind == b->frame.kind && a->frame.line == b->frame.line &&
	       a->frame.line_begins == b->frame.line_begins &&
	       a->frame.inlined == b->frame.inlined && a->frame.offset == b->frame.offset &&
	       a->frame.module_offset == b->frame.module_offset;
}

static uint64_t frame_hash(const struct frame_entry *entry)
{
	const uint64_t words[] = {
		hash_bytes(&entry->strings, sizeof(entry->strings)),
		(uint64_t)entry->frame.kind << 40 | (uint64_t)entry->frame.line << 2 |
			(uint64_t)entry->frame.line_begins << 1 | entry->frame.inlined,
		entry->frame.offset, entry->frame.module_offset};

	return hash_bytes(words, sizeof(words));
}

int frame_table_frame(struct frame_table *table, const struct frame *frame, uint32_t *id)
{
	struct frame_entry key = {.frame = *frame}, *entry;
	struct frame_strings *s = &key.strings;
	uint64_t hash;
	int err = frame_table_string(table, frame->function, &s->function);

	err = err ?: frame_table_string(table, frame->symbol, &s->symbol);
	err = err ?: frame_table_string(table, frame->module, &s->module);
	err = err ?: frame_table_string(table, frame->module_path, &s->module_path);
	err = err ?: frame_table_string(table, frame->file, &s->file);
	if (!err && frame->build_id && frame->build_id_len)
		err = frame_table_bytes(table, frame->build_id, frame->build_id_len, &s->build_id);
	if (err)
		return err;
	hash = frame_hash(&key);
	*id = table_find(&table->frames, hash, frame_equal, &key);
	if (*id)
		return 0;
	key.frame.function = frame_table_string_at(table, s->function, NULL);
	key.frame.symbol = frame_table_string_at(table, s->symbol, NULL);
	key.frame.module = frame_table_string_at(table, s->module, NULL);
	key.frame.module_path = frame_table_string_at(table, s->module_path, NULL);
	key.frame.file = frame_table_string_at(table, s->file, NULL);
	key.frame.build_id =
		(const uint8_t *)frame_table_string_at(table, s->build_id, &key.frame.build_id_len);
	entry = malloc(sizeof(*entry));
	if (entry)
		*entry = key;
	return table_add(&table->frames, hash, entry, id);
}

static struct frame_entry *frame_entry_at(const struct frame_table *table, uint32_t id)
{
	return table->frames.items[id - 1];
}

const struct frame *frame_table_frame_at(const struct frame_table *table, uint32_t id)
{
	return &frame_entry_at(table, id)->frame;
}

const struct frame_strings *frame_table_strings_of(const struct frame_table *table, uint32_t frame)
{
	return &frame_entry_at(table, frame)->strings;
}

/* ---- stacks ------------------------------------------------------------------------------- */

struct stack_list {
	const uint32_t *ids;
	size_t count;
};

static bool stack_equal(const void *item, const void *key)
{
	const struct stack_entry *entry = item;
	const struct stack_list *wanted = key;

	return entry->count == wanted->count &&
	       !memcmp(entry->ids, wanted->ids, entry->count * sizeof(entry->ids[0]));
}

int frame_table_stack_of(struct frame_table *table, const uint32_t *frames, size_t count,
			 uint32_t *id)
{
	const struct stack_list key = {frames, count};
	uint64_t hash = hash_bytes(frames, count * sizeof(*frames));
	struct stack_entry *entry;
	size_t ids_size;

	*id = table_find(&table->stacks, hash, stack_equal, &key);
	if (*id)
		return 0;
	/* The pointers behind the numbers must be aligned. */
	ids_size = (count * sizeof(*frames) + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
	entry = malloc(sizeof(*entry) + ids_size + count * sizeof(*entry->frames));
	if (entry) {
		entry->count = count;
		entry->frames = (const struct frame **)((char *)entry->ids + ids_size);
		for (size_t i = 0; i < count; i++) {
			entry->ids[i] = frames[i];
			entry->frames[i] = frame_table_frame_at(table, frames[i]);
		}
	}
	return table_add(&table->stacks, hash, entry, id);
}

int frame_table_stack(struct frame_table *table, const struct frame *const *frames, size_t count,
		      uint32_t *id)
{
	_cleanup_free_ uint32_t *ids = calloc(count ? count : 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int err = frame_table_frame(table, frames[i], &ids[i]);

		if (err)
			return err;
	}
	return frame_table_stack_of(table, ids, count, id);
}

const struct frame *const *frame_table_stack_at(const struct frame_table *table, uint32_t id,
						size_t *count)
{
	const struct stack_entry *entry = table->stacks.items[id - 1];

	*count = entry->count;
	return entry->frames;
}

int frame_table_keep(struct frame_table *table, const struct frame *const **frames, size_t *count)
{
	uint32_t id;
	int err;

	if (!*frames || !*count)
		return 0;
	err = frame_table_stack(table, *frames, *count, &id);
	if (!err)
		*frames = frame_table_stack_at(table, id, count);
	return err;
}

const uint32_t *frame_table_stack_ids(const struct frame_table *table, uint32_t id, size_t *count)
{
	const struct stack_entry *entry = table->stacks.items[id - 1];

	*count = entry->count;
	return entry->ids;
}

size_t frame_table_string_count(const struct frame_table *table)
{
	return table->strings.count;
}

size_t frame_table_frame_count(const struct frame_table *table)
{
	return table->frames.count;
}

size_t frame_table_stack_count(const struct frame_table *table)
{
	return table->stacks.count;
}
