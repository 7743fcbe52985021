/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kinds of objects of a Go heap, each there once. Internal to go_types.c. */
#ifndef MEMLEAKBPF_MANAGED_GO_KINDS_H
#define MEMLEAKBPF_MANAGED_GO_KINDS_H

#include "user/managed/go_type_table.h"
#include "user/model/managed_heap.h"

#define GO_KINDS_BITS 18
#define GO_KINDS_MAX  ((1u << GO_KINDS_BITS) - 1)

/* How an object is one of a type. What it is of: a type's number, or what is said here. */
enum go_kind_form {
	GO_FORM_ONE,
	GO_FORM_SLICE,
	GO_FORM_ENTRIES, /* a map's buckets or groups */
	GO_FORM_LAST_FOLLOWED = GO_FORM_ENTRIES,
	GO_FORM_MAP,
	GO_FORM_DIRECTORY,
	GO_FORM_TABLE,
	GO_FORM_CHAN,
	GO_FORM_STRING,	       /* of 0 */
	GO_FORM_CLOSURE,       /* of the function's address */
	GO_FORM_GOROUTINE,     /* of 0 */
	GO_FORM_WITH_POINTERS, /* of its size in bytes: no type is known */
	GO_FORM_PLAIN,	       /* the same */
};

struct go_kinds;

/* NULL when out of memory. Both outlive it. */
struct go_kinds *go_kinds_new(const struct go_program *program, struct go_type_table *table);
void go_kinds_free(struct go_kinds *kinds); /* NULL is fine */

/* A kind's number, from 1, made where it is not there; 0: there are too many. 0 or -ENOMEM. */
int go_kinds_get(struct go_kinds *kinds, enum go_kind_form form, uint64_t what, uint32_t *kind);

/* The number of the type whose slots its objects have; 0: they are not followed. */
uint32_t go_kinds_followed(const struct go_kinds *kinds, uint32_t kind);

/* Is it one value, and no row of them? */
bool go_kinds_is_one(const struct go_kinds *kinds, uint32_t kind);

/* Counts an object; of kind 0 nothing. */
void go_kinds_count(struct go_kinds *kinds, uint32_t kind, const struct amount *one);

/* Names them, and fills in those that have objects, the most bytes first. 0 or -ENOMEM. */
int go_kinds_take(struct go_kinds *kinds, struct managed_heap *out);

#endif
