/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several processes of one program as one: the same stack, wherever its code is mapped, has the
 * same id in each of them.
 */
#ifndef MEMLEAKBPF_ANALYSIS_MERGE_H
#define MEMLEAKBPF_ANALYSIS_MERGE_H

#include <stdbool.h>

#include "user/model/report.h"

/* Two processes run the same program if they go by the same name. */
bool merge_same_program(const struct snapshot *a, const struct snapshot *b);

/* What a sum goes by. */
struct merge_identity {
	uint32_t target_id;
	pid_t pid;
	bool final;
};

/*
 * The sum of `count` >= 1 snapshots of one trace and of their differences, with snapshot.processes
 * set; times are the latest, the identity is `as` (NULL: the first's, and final when all are); trends, verdicts and suppressions are
 * left out. stack.index of the sum tells which of the snapshots (counted from 0) a stack was found
 * in. 0 and *out (report_free), or -ENOMEM, not logged.
 */
int merge_reports(const struct report *const *list, size_t count, const struct merge_identity *as,
		  struct report **out);

#endif
