/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several processes of one program as one: a stack has the same id in each of them, wherever its
 * code is mapped.
 */
#ifndef MEMLEAKBPF_ANALYSIS_MERGE_H
#define MEMLEAKBPF_ANALYSIS_MERGE_H

#include <stdbool.h>

#include "user/model/report.h"

/* Two processes run the same program if they go by the same name. */
bool merge_same_program(const struct snapshot *a, const struct snapshot *b);

/* The identity of a sum. */
struct merge_identity {
	uint32_t target_id;
	pid_t pid;
	bool final;
};

/*
 * Adds up `count` >= 1 snapshots of one trace and their differences, and sets snapshot.processes.
 * Times are the latest. The identity is `as`; NULL: the first's, and final when all are. Trends,
 * verdicts and suppressions are left out. stack.index of the sum tells in which of the snapshots
 * (counted from 0) a stack was found. 0 and *out (report_free), or -ENOMEM, not logged.
 */
int merge_reports(const struct report *const *list, size_t count, const struct merge_identity *as,
		  struct report **out);

#endif
