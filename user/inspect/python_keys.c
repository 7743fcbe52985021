// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/python_keys.h"

#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

/* PyASCIIObject, in words: references, type, length, hash, state; until 3.11 wchar_t's. Then the characters. */
#define LENGTH	   2
#define HASH	   3
#define STATE	   4
#define CHARACTERS 5

/* Bits of the state: one byte for each character, behind the struct, all of them ASCII. */
#define KIND	   (7u << 2)
#define KIND_BYTES (1u << 2)
#define COMPACT	   (1u << 5)
#define ASCII	   (1u << 6)

/* So many characters, and a NUL behind them. */
static bool python_read(const struct memory_image *memory, uint64_t address, size_t length,
			char *to)
{
	for (size_t i = 0; i <= length; i++) {
		const uint64_t at = address + i;
		uint64_t word;
		char c;

		if (!memory_image_word(memory, at & ~7ull, &word))
			return false;
		c = (char)(word >> at % 8 * 8);
		if (i == length ? c != '\0' : c < ' ' || c > '~' || c == '"')
			return false;
		to[i] = c;
	}
	return true;
}

bool python_text(const struct memory_image *memory, uint64_t address,
		 char to[static PYTHON_KEY_MAX])
{
	uint64_t words[CHARACTERS];

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (address % 8 || !memory_image_word(memory, address + 8ull * i, &words[i]))
			return false;
	}
	/* What is a key, or a name, has been hashed. */
	if (!words[LENGTH] || words[LENGTH] >= PYTHON_KEY_MAX || words[HASH] == UINT64_MAX ||
	    (words[STATE] & (KIND | COMPACT | ASCII)) != (KIND_BYTES | COMPACT | ASCII))
		return false;
	/* Where the older ones have no characters there is a zero, or an address. */
	return python_read(memory, address + 8ull * CHARACTERS, words[LENGTH], to) ||
	       python_read(memory, address + 8ull * (CHARACTERS + 1), words[LENGTH], to);
}

bool python_key(const struct memory_image *memory, uint64_t value, char to[static PYTHON_KEY_MAX])
{
	uint64_t key;

	/* Entries are key and value, or hash, key and value. */
	return memory_image_word(memory, value - 8, &key) && python_text(memory, key, to);
}

/* The name of the module whose dictionary has these entries; "": it is no module's. */
static void python_module(const struct memory_image *memory, uint64_t start, uint64_t end,
			  char to[static PYTHON_KEY_MAX])
{
	uint64_t at = start + 8;
	struct memory_run run;

	while (memory_image_next_run(memory, &at, end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			if (python_key(memory, run.address + 8 * i, to) &&
			    !strcmp(to, "__name__") && python_text(memory, run.words[i], to))
				return;
		}
	}
	*to = '\0';
}

struct python_entries {
	const struct memory_image *memory;
	uint64_t start, end; /* of the block */
	struct python_name *names;
	size_t count;
};

/* The block that the value lies in; NULL: none of them. */
static struct python_name *python_named(const struct python_entries *e, uint64_t value)
{
	struct python_name *names = e->names;
	size_t at;

	if (value - names[0].start >= names[e->count - 1].end - names[0].start)
		return NULL;
	at = BISECT(i, 0, e->count, names[i].end <= value);
	return names[at].start <= value ? &names[at] : NULL;
}

static void python_take(const struct python_entries *e, struct python_name *name, uint64_t value)
{
	char key[PYTHON_KEY_MAX];

	if ((*name->key && *name->key != '_') || !python_key(e->memory, value, key) ||
	    (*name->key && *key == '_'))
		return;
	snprintf(name->key, sizeof(name->key), "%s", key);
	python_module(e->memory, e->start, e->end, name->module);
}

void python_names_find(const struct heap_image *image, const struct packed *group_of,
		       size_t keys_group, struct python_name *names, size_t count)
{
	struct python_entries e = {.memory = image->memory, .names = names, .count = count};

	for (size_t i = 0; count && i < image->block_count; i++) {
		struct memory_run run;
		uint64_t at;

		if (packed_get(group_of, i) != keys_group)
			continue;
		e.start = heap_block_address(image, i);
		e.end = heap_block_end(image, i);
		at = e.start + 8;
		while (memory_image_next_run(image->memory, &at, e.end, &run)) {
			for (size_t w = 0; w < run.count; w++) {
				struct python_name *name = python_named(&e, run.words[w]);

				if (name)
					python_take(&e, name, run.address + 8 * w);
			}
		}
	}
}
