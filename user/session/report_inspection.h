/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `memleakbpf report` of a recording of inspect. */
#ifndef MEMLEAKBPF_SESSION_REPORT_INSPECTION_H
#define MEMLEAKBPF_SESSION_REPORT_INSPECTION_H

#include "user/analysis/inspection_order.h"
#include "user/session/output.h"

/* The order of groups for --sort. */
enum inspection_order report_inspection_order(enum rank_by sort);

struct report_inspections {
	const struct replay_config *config;
	struct output *output;
	bool last_only;		  /* shows each process's last look, at the end */
	struct inspection **last; /* owned */
	size_t last_count;
	uint64_t taken;
};

/* Takes one look over. 0 or -errno, logged: -EINVAL where the format has no inspections. */
int report_inspection_take(struct report_inspections *r, struct inspection *inspection);

/* Shows the looks that were left for the end. 0 or -errno, logged. */
int report_inspection_finish(struct report_inspections *r);
void report_inspection_release(struct report_inspections *r);

#endif
