/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What debug information has said of types, from one look at a process to the next: to read it takes longer than
 * all else of a look, and a file that has not changed says the same.
 */
#ifndef MEMLEAKBPF_INSPECT_KEPT_TYPES_H
#define MEMLEAKBPF_INSPECT_KEPT_TYPES_H

#include <stddef.h>

#include "user/process/object.h"
#include "user/symbol/type_table.h"

/*
 * Bytes, of all files together. Those that have not been wanted for longest make room for others; what this look
 * alone has beyond it is read anew each time.
 */
#define KEPT_TYPES_MAX (32u << 20)

struct kept_types;

/* `max`: bytes, KEPT_TYPES_MAX. NULL when out of memory. */
struct kept_types *kept_types_new(size_t max);
void kept_types_free(struct kept_types *kept); /* NULL is fine */

/*
 * Another look, at one process or at several, which are wanted again together. To be called before the files of
 * the first are asked for. NULL is fine.
 */
void kept_types_begin_look(struct kept_types *kept);

/*
 * Those of an object: 0 and *out (type_table_free()), NULL where they have not been kept; or -ENOMEM. All objects
 * that it is asked of are of one cache, by whose numbers it knows them: a file that has changed has another
 * one (object_id()).
 */
int kept_types_get(struct kept_types *kept, const struct object *object, struct type_table **out);

/* Keeps a copy of them, if there is room. */
void kept_types_put(struct kept_types *kept, const struct object *object,
		    const struct type_table *types);

#endif
