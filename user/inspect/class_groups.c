// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/class_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/text.h"
#include "user/base/util.h"

/* Of a name, with its NUL; so much is kept of the names of frames. */
#define GROUP_NAME_MAX 4096

/* Of all names: a target can make them as long as it likes. */
#define NAME_BYTES_MAX (32u << 20)

/* What makes a group: all of it, without padding. */
struct class_group_key {
	uint32_t kind;
	uint32_t name_len;
	uint64_t size, beginning;
	char names[]; /* the name and its NUL, the file's */
};

struct class_group_entry {
	UT_hash_handle hh;
	uint32_t group;
	struct class_group_key key;
};

struct class_groups {
	struct class_group_entry *entries;
	struct inspected_group *groups;
	size_t count, room;
	size_t name_bytes;
};

struct class_groups *class_groups_new(void)
{
	return calloc(1, sizeof(struct class_groups));
}

void class_groups_free(struct class_groups *groups)
{
	struct class_group_entry *entry, *next;

	if (!groups)
		return;
	HASH_ITER (hh, groups->entries, entry, next) {
		HASH_DEL(groups->entries, entry);
		free(entry);
	}
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->groups[i].name);
		free(groups->groups[i].module);
	}
	free(groups->groups);
	free(groups);
}

/* The entry becomes the groups', or is freed. */
static int class_groups_put(struct class_groups *groups, struct class_group_entry *entry,
			    size_t key_len, uint32_t *group)
{
	struct class_group_entry *found;
	struct inspected_group *made;
	const char *module = entry->key.names + entry->key.name_len + 1;
	bool named = entry->key.kind != GROUP_SIZE;

	HASH_FIND(hh, groups->entries, &entry->key, key_len, found);
	if (found || groups->count == CLASS_GROUPS_MAX ||
	    groups->name_bytes + key_len > NAME_BYTES_MAX) {
		*group = found ? found->group : CLASS_NO_GROUP;
		free(entry);
		return 0;
	}
	*group = entry->group = (uint32_t)groups->count;
	HASH_ADD_KEYPTR(hh, groups->entries, &entry->key, key_len, entry);
	if (!entry->hh.tbl) { /* how uthash tells that it ran out of memory */
		free(entry);
		return -ENOMEM;
	}
	if (!RESERVE_ITEM(groups->groups, groups->count, groups->room, 64))
		return -ENOMEM;
	made = &groups->groups[groups->count];
	*made = (struct inspected_group){
		.kind = (enum group_kind)entry->key.kind,
		.name = named ? strdup(entry->key.names) : NULL,
		.module = *module ? strdup(module) : NULL,
		.size = entry->key.size,
		.beginning = entry->key.beginning,
	};
	groups->count++;
	groups->name_bytes += named ? key_len : 0;
	return (named && !made->name) || (*module && !made->module) ? -ENOMEM : 0;
}

/* Cleaned as names of frames are. */
static size_t class_groups_clean(char *to, const char *text)
{
	return text_copy(to, GROUP_NAME_MAX, text, strlen(text), &text_for_terminal);
}

int class_groups_named(struct class_groups *groups, enum group_kind kind, const char *name,
		       const char *path, uint32_t *group)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct class_group_entry *entry = calloc(1, sizeof(*entry) + 2 * GROUP_NAME_MAX);
	struct class_group_entry *fitting;
	size_t len, names;

	if (!entry)
		return -ENOMEM;
	len = class_groups_clean(entry->key.names, name);
	entry->key.kind = kind;
	entry->key.name_len = (uint32_t)len;
	names = len + 1 +
		class_groups_clean(entry->key.names + len + 1, slash ? slash + 1 : path ?: "") + 1;
	fitting = realloc(entry, sizeof(*entry) + names);
	return class_groups_put(groups, fitting ?: entry, sizeof(entry->key) + names, group);
}

int class_groups_sized(struct class_groups *groups, uint64_t size, uint64_t beginning,
		       uint32_t *group)
{
	struct class_group_entry *entry = calloc(1, sizeof(*entry) + 2);

	if (!entry)
		return -ENOMEM;
	entry->key.kind = GROUP_SIZE;
	entry->key.size = size;
	entry->key.beginning = beginning;
	return class_groups_put(groups, entry, sizeof(entry->key) + 2, group);
}

size_t class_groups_count(const struct class_groups *groups)
{
	return groups->count;
}

struct inspected_group *class_groups_at(struct class_groups *groups, uint32_t group)
{
	return &groups->groups[group];
}

struct inspected_group *class_groups_take(struct class_groups *groups, size_t *count)
{
	*count = groups->count;
	groups->count = groups->room = 0;
	return TAKE_PTR(groups->groups);
}
