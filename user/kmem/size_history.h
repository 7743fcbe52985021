/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes over time, each by a key: how much each has grown, and whether it still does. */
#ifndef MEMLEAKBPF_KMEM_SIZE_HISTORY_H
#define MEMLEAKBPF_KMEM_SIZE_HISTORY_H

#include "user/model/kernel_report.h"

#define SIZE_HISTORY_MAX 4096 /* sizes with a trend; each has 3 KiB at most */

struct size_history;

/* NULL when out of memory. */
struct size_history *size_history_new(void);
void size_history_free(struct size_history *history); /* NULL is fine */

/* A look begins: of what was not there at the last one the trend is forgotten, from 4,096 on. */
void size_history_look(struct size_history *history, uint64_t time_ns);

/*
 * Takes in a size of this look and judges it; a change below floor_bytes does not count. What is
 * met first after the first look has grown from 0, if `from_zero`. 0 or -ENOMEM; then only the trend
 * is missing.
 */
int size_history_add(struct size_history *history, uint64_t key, uint64_t bytes,
		     uint64_t floor_bytes, bool from_zero, struct kernel_size *out);

/* The key of a name, among those of one kind. */
uint64_t size_history_key(const char *kind, const char *name);

#endif
