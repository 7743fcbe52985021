/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Under which name a dictionary of CPython has a value. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_PYTHON_KEYS_H
#define MEMLEAKBPF_INSPECT_PYTHON_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/packed.h"
#include "user/heap/heap_image.h"

#define PYTHON_KEY_MAX 64

/* A block of an object, and the name that a dictionary has it under. */
struct python_name {
	uint64_t start, end;
	uint32_t block;
	char key[PYTHON_KEY_MAX];    /* "": none has been found */
	char module[PYTHON_KEY_MAX]; /* whose dictionary that is; "": it is no module's */
};

/* The short string of ASCII without quotes at that address, of CPython 3.8 to 3.13. False where it is none. */
bool python_text(const struct memory_image *memory, uint64_t address,
		 char to[static PYTHON_KEY_MAX]);

/* Of a value at that address, which is a word of a dictionary's entries, the key that is such a string. */
bool python_key(const struct memory_image *memory, uint64_t value, char to[static PYTHON_KEY_MAX]);

/*
 * Looks for the names of these blocks, which stand by address, in all blocks of that group: entries of dictionaries. Of
 * several names the first one stays that does not begin with an underscore.
 */
void python_names_find(const struct heap_image *image, const struct packed *group_of,
		       size_t keys_group, struct python_name *names, size_t count);

#endif
