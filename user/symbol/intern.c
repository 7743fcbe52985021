// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct interned {
	UT_hash_handle hh;
	char text[];
};

struct intern_pool {
	struct interned *strings;
};

struct intern_pool *intern_pool_new(void)
{
	return calloc(1, sizeof(struct intern_pool));
}

void intern_pool_free(struct intern_pool *pool)
{
	struct interned *each;
	struct interned *next;

	if (!pool)
		return;
	HASH_ITER (hh, pool->strings, each, next) {
		HASH_DEL(pool->strings, each);
		free(each);
	}
	free(pool);
}

/*
 * The length of the well-formed UTF-8 sequence at text, 0 when there is none. Table 3-7 of the
 * Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
static size_t utf8_length(const unsigned char *text, size_t len)
{
	unsigned char first = text[0];
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t need;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		need = 2;
	else if (first >= 0xe0 && first <= 0xef)
		need = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		need = 4;
	else
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (need > len || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

static size_t clean(char *out, const unsigned char *text, size_t len)
{
	size_t used = 0;

	for (size_t at = 0; at < len && text[at];) {
		size_t run = utf8_length(text + at, len - at);
		size_t taken = run ? run : 1;
		bool control = run == 1 && (text[at] < 0x20 || text[at] == 0x7f);
		bool c1 = run == 2 && text[at] == 0xc2 && text[at + 1] < 0xa0;

		if (!run || control || c1)
			run = 0;
		if (used + (run ? run : 1) > INTERN_MAX - 1)
			break;
		if (run)
			memcpy(out + used, text + at, run);
		else
			out[used] = '?';
		used += run ? run : 1;
		at += taken;
	}
	out[used] = '\0';
	return used;
}

const char *intern_bytes(struct intern_pool *pool, const char *text, size_t len)
{
	char cleaned[INTERN_MAX];
	struct interned *found;
	size_t used = clean(cleaned, (const unsigned char *)text, len);

	HASH_FIND(hh, pool->strings, cleaned, used, found);
	if (found)
		return found->text;
	found = calloc(1, sizeof(*found) + used + 1);
	if (!found)
		return NULL;
	memcpy(found->text, cleaned, used + 1);
	HASH_ADD_KEYPTR(hh, pool->strings, found->text, used, found);
	if (!found->hh.tbl) { /* how uthash tells that it ran out of memory */
		free(found);
		return NULL;
	}
	return found->text;
}

const char *intern(struct intern_pool *pool, const char *text)
{
	return intern_bytes(pool, text, strlen(text));
}
