/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of processes that have ended, for those that take their places: the next one of
 * the same program and unit. In bounded memory: the ones that were used longest ago go first.
 */
#ifndef MEMLEAKBPF_LOOK_HISTORY_HEIRS_H
#define MEMLEAKBPF_LOOK_HISTORY_HEIRS_H

#include "user/regime/regime.h"

#define HISTORY_HEIRS_MAX 1024

struct history_heirs;

struct history_heirs *history_heirs_new(void); /* NULL when out of memory */
void history_heirs_free(struct history_heirs *heirs);

/* A process of that lineage has ended. Without memory nothing is left. */
void history_heirs_leave(struct history_heirs *heirs, uint64_t lineage, const struct regime *r);

/* One has begun: it inherits what there is. */
void history_heirs_take(struct history_heirs *heirs, uint64_t lineage, struct regime *r);

#endif
