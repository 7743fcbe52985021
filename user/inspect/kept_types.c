// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/kept_types.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/bytes.h"
#include "user/base/hash.h"
#include "user/base/log.h"

/* Packed: a third of what a table takes. */
struct kept_table {
	uint64_t object; /* the key */
	uint8_t *bytes;
	size_t len;
	uint64_t look; /* the last one that wanted it */
	UT_hash_handle hh;
};

struct kept_types {
	struct kept_table *tables;
	size_t max, bytes;
	uint64_t look;
};

struct kept_types *kept_types_new(size_t max)
{
	struct kept_types *kept = calloc(1, sizeof(*kept));

	if (kept)
		kept->max = max;
	return kept;
}

static size_t kept_table_bytes(const struct kept_table *table)
{
	return sizeof(*table) + table->len;
}

static void kept_types_drop(struct kept_types *kept, struct kept_table *table)
{
	HASH_DEL(kept->tables, table);
	kept->bytes -= kept_table_bytes(table);
	free(table->bytes);
	free(table);
}

void kept_types_free(struct kept_types *kept)
{
	struct kept_table *table, *next;

	if (!kept)
		return;
	HASH_ITER (hh, kept->tables, table, next)
		kept_types_drop(kept, table);
	free(kept);
}

void kept_types_begin_look(struct kept_types *kept)
{
	if (kept)
		kept->look++;
}

static struct kept_table *kept_types_find(const struct kept_types *kept,
					  const struct object *object)
{
	const uint64_t id = object_id(object);
	struct kept_table *table;

	HASH_FIND(hh, kept->tables, &id, sizeof(id), table);
	return table;
}

int kept_types_get(struct kept_types *kept, const struct object *object, struct type_table **out)
{
	struct kept_table *table = kept_types_find(kept, object);
	int err;

	*out = NULL;
	if (!table)
		return 0;
	table->look = kept->look;
	err = type_table_parse(table->bytes, table->len, out);
	if (err != -EBADMSG)
		return err;
	log_warn("%s: what was kept of its types is damaged (a bug of memleakbpf's); its debug "
		 "information is read again",
		 object_path(object));
	kept_types_drop(kept, table);
	return 0;
}

/*
 * What has not been wanted for longest goes. What this look has wanted stays: the next one will want it
 * too, and of files that have more together than there is room for some would go each time, before their turn.
 */
static bool kept_types_make_room(struct kept_types *kept, size_t bytes)
{
	struct kept_table *table, *next, *oldest;
	size_t wanted = 0;

	HASH_ITER (hh, kept->tables, table, next)
		wanted += table->look == kept->look ? kept_table_bytes(table) : 0;
	if (bytes > kept->max - wanted)
		return false;
	while (bytes > kept->max - kept->bytes) {
		oldest = kept->tables;
		HASH_ITER (hh, kept->tables, table, next)
			oldest = table->look < oldest->look ? table : oldest;
		kept_types_drop(kept, oldest);
	}
	return true;
}

void kept_types_put(struct kept_types *kept, const struct object *object,
		    const struct type_table *types)
{
	struct bytes_writer packed = {0};
	struct kept_table *table;

	if (kept_types_find(kept, object))
		return;
	type_table_pack(types, &packed);
	table = packed.failed || !kept_types_make_room(kept, sizeof(*table) + packed.len)
			? NULL
			: calloc(1, sizeof(*table));
	if (!table) {
		free(packed.bytes);
		return;
	}
	*table = (struct kept_table){.object = object_id(object),
				     .bytes = packed.bytes,
				     .len = packed.len,
				     .look = kept->look};
	HASH_ADD(hh, kept->tables, object, sizeof(table->object), table);
	if (!table->hh.tbl) {
		free(table->bytes);
		free(table);
		return;
	}
	kept->bytes += kept_table_bytes(table);
}
