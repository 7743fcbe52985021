/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes between vfork and exec. They are no targets yet. But what the new program maps is
 * recorded before its exec is reported. Nothing else will be known of a program that ends soon.
 */
#ifndef MEMLEAKBPF_TRACE_SPAWN_H
#define MEMLEAKBPF_TRACE_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/target/image.h"
#include "user/target/mapwatch.h"

struct spawn_table;

struct spawn_table *spawn_table_new(void);	  /* NULL when out of memory */
void spawn_table_free(struct spawn_table *table); /* NULL is fine */

/*
 * From now on the process's records are wanted; it runs in the memory of the target `parent`.
 * Without memory they are not.
 */
void spawn_table_add(struct spawn_table *table, pid_t pid, uint32_t parent, uint64_t time_ns);
/* The parent of one of them, 0: it is none. */
uint32_t spawn_table_parent(const struct spawn_table *table, pid_t pid);
/* One that has been there since `since_ns` (CLOCK_MONOTONIC) or longer, has not called exec and is not settled; 0: none. */
pid_t spawn_table_unsettled(const struct spawn_table *table, uint64_t since_ns);
/* It has been there since then only. */
void spawn_table_postpone(struct spawn_table *table, pid_t pid, uint64_t time_ns);
/* It lives on in its parent's memory, as one that shares it. */
void spawn_table_settle(struct spawn_table *table, pid_t pid);
/* Any one of that parent's; 0: it has none. */
pid_t spawn_table_of(const struct spawn_table *table, uint32_t parent);
/* Is it one that has called no exec and is not settled? */
bool spawn_table_is_unsettled(const struct spawn_table *table, pid_t pid);
/* Is it one that has not called exec? */
bool spawn_table_shares(const struct spawn_table *table, pid_t pid);
bool spawn_table_has(const struct spawn_table *table, pid_t pid);
/* A record of the process, if it is one of them. */
void spawn_table_map(struct spawn_table *table, struct object_cache *objects,
		     const struct mapwatch_record *record);
/*
 * Takes the process out. Returns what it has mapped since its exec, owned by the caller; NULL when
 * nothing is known.
 */
struct image *spawn_table_take(struct spawn_table *table, pid_t pid);

#endif
