// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/kept_types.h"

#include <stdlib.h>

#include "user/base/bytes.h"
#include "user/base/hash.h"

/* Packed: a third of what a table takes. */
struct kept_table {
	uint64_t object; /* the key */
	uint8_t *bytes;
	size_t len;
	UT_hash_handle hh;
};

struct kept_types {
	struct kept_table *tables;
	size_t max, bytes;
};

struct kept_types *kept_types_new(size_t max)
{
	struct kept_types *kept = calloc(1, sizeof(*kept));

	if (kept)
		kept->max = max;
	return kept;
}

void kept_types_free(struct kept_types *kept)
{
	struct kept_table *table, *next;

	if (!kept)
		return;
	HASH_ITER (hh, kept->tables, table, next) {
		HASH_DEL(kept->tables, table);
		free(table->bytes);
		free(table);
	}
	free(kept);
}

static struct kept_table *kept_types_find(const struct kept_types *kept,
					  const struct object *object)
{
	const uint64_t id = object_id(object);
	struct kept_table *table;

	HASH_FIND(hh, kept->tables, &id, sizeof(id), table);
	return table;
}

int kept_types_get(const struct kept_types *kept, const struct object *object,
		   struct type_table **out)
{
	const struct kept_table *table = kept_types_find(kept, object);

	*out = NULL;
	return table ? type_table_parse(table->bytes, table->len, out) : 0;
}

void kept_types_put(struct kept_types *kept, const struct object *object,
		    const struct type_table *types)
{
	struct bytes_writer packed = {0};
	struct kept_table *table;

	if (kept_types_find(kept, object))
		return;
	type_table_pack(types, &packed);
	table = packed.failed || packed.len > kept->max - kept->bytes ? NULL
								      : calloc(1, sizeof(*table));
	if (!table) {
		free(packed.bytes);
		return;
	}
	*table = (struct kept_table){
		.object = object_id(object), .bytes = packed.bytes, .len = packed.len};
	HASH_ADD(hh, kept->tables, object, sizeof(table->object), table);
	if (!table->hh.tbl) {
		free(table->bytes);
		free(table);
		return;
	}
	kept->bytes += packed.len;
}
