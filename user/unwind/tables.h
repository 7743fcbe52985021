/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind tables of objects in the word space: built once per object, shared by all that map it,
 * and kept for a while when nobody does any more: between a command's preparation and its exec, and
 * between one child and the next, nobody maps them. Private to user/unwind.
 */
#ifndef MEMLEAKBPF_UNWIND_TABLES_H
#define MEMLEAKBPF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/hash.h"
#include "user/process/object.h"
#include "user/unwind/pages.h"
#include "user/unwind/publish.h"

/*
 * Tables without users that are kept: the oldest go first. Rows take about 5 bytes, and each object
 * has a descriptor open.
 */
#define TABLES_IDLE_OBJECTS 128
#define TABLES_IDLE_ROWS    4000000

/* One executable segment of an object, in the word space. */
struct table_segment {
	uint64_t offset, size; /* of the file */
	uint64_t delta;	       /* unwind_object_segment.delta */
	struct unwind_pages pages;
};

/* An object's tables. */
struct table_entry {
	uint64_t id; /* object_id(): the key */
	size_t refs; /* sets and holders that mention it */
	/* a reference: its inode cannot be given to another file meanwhile */
	struct object *object;
	struct unwind_object_key key;
	bool announced; /* to put_object */
	struct table_segment *segments;
	size_t count, rows;
	struct table_entry *idle_before, *idle_after; /* while refs is 0 */
	UT_hash_handle hh;
};

struct unwind_tables;

/* `backend` and `space` must outlive it. NULL when out of memory. */
struct unwind_tables *unwind_tables_new(const struct unwind_backend *backend,
					struct unwind_space *space);
void unwind_tables_free(struct unwind_tables *tables); /* NULL is fine */

/*
 * A new reference to an object's tables, which are built if this is the first. What cannot be read
 * has no rows. 0, -ENOMEM, -ENOSPC or -E2BIG, not logged.
 */
int unwind_tables_get(struct unwind_tables *tables, struct object *object,
		      struct table_entry **out);
void unwind_tables_unref(struct unwind_tables *tables, struct table_entry *entry);

/*
 * Does space wait for the walks in progress to end? Once they have, unwind_tables_reclaim() makes
 * it free.
 */
bool unwind_tables_leaving(const struct unwind_tables *tables);
void unwind_tables_reclaim(struct unwind_tables *tables);

/* Fills in objects, rows, rules and build_ns. */
void unwind_tables_stats(const struct unwind_tables *tables, struct unwind_publisher_stats *out);

#endif
