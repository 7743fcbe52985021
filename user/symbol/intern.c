// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/intern.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/text.h"

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

const char *intern_bytes(struct intern_pool *pool, const char *text, size_t len)
{
	char cleaned[INTERN_MAX];
	struct interned *found;
	size_t used = text_copy(cleaned, sizeof(cleaned), text, len, &text_for_terminal);

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
