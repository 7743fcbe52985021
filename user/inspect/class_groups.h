/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The groups that blocks are put into, each there once. Internal to the files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_GROUPS_H
#define MEMLEAKBPF_INSPECT_CLASS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/inspection.h"

#define CLASS_NO_GROUP UINT32_MAX

/* No program has so many classes; a target can make them up. */
#define CLASS_GROUPS_MAX (1u << 17)

/* So many bits a block has while all are looked at: its group's number, or CLASS_UNKNOWN, or classes.c's own. */
#define CLASS_KNOWN_BITS 20
#define CLASS_UNKNOWN	 ((1u << CLASS_KNOWN_BITS) - 1)

struct class_groups;

struct class_groups *class_groups_new(void);	     /* NULL when out of memory */
void class_groups_free(struct class_groups *groups); /* NULL is fine */

/*
 * The index of a group with a name, made where it is not there: `name` and the last component of
 * `path` (NULL: unknown) are cleaned as the names of frames are. CLASS_NO_GROUP: there are too many
 * of them, or too long names. 0 or -ENOMEM.
 */
int class_groups_named(struct class_groups *groups, enum group_kind kind, const char *name,
		       const char *path, uint32_t *group);

/* The same of blocks of a size (0: of any) that begin alike (0: in any way). */
int class_groups_sized(struct class_groups *groups, uint64_t size, uint64_t beginning,
		       uint32_t *group);

size_t class_groups_count(const struct class_groups *groups);

/* Valid until another group is made. */
struct inspected_group *class_groups_at(struct class_groups *groups, uint32_t group);

/* Takes them out; the caller frees them, and what they own. */
struct inspected_group *class_groups_take(struct class_groups *groups, size_t *count);

#endif
