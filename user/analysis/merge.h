/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several processes of one program as one: the same stack, wherever its code is mapped, has the
 * same id in each of them.
 */
#ifndef MEMLEAKBPF_ANALYSIS_MERGE_H
#define MEMLEAKBPF_ANALYSIS_MERGE_H

#include <stdbool.h>

#include "user/model/snapshot.h"

/* Two processes run the same program if they go by the same name. */
bool merge_same_program(const struct snapshot *a, const struct snapshot *b);

/*
 * The sum of `count` >= 1 snapshots of one trace, with snapshot.processes set; identity and times
 * are the first's and the latest, verdicts and suppressions are left out. stack.index of the sum
 * tells which of the snapshots (counted from 0) a stack was found in. 0 and *out (snapshot_free),
 * or -ENOMEM, not logged.
 */
int merge_snapshots(const struct snapshot *const *list, size_t count, struct snapshot **out);

#endif
