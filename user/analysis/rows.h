/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks that have something in common, as one row: --by. */
#ifndef MEMLEAKBPF_ANALYSIS_ROWS_H
#define MEMLEAKBPF_ANALYSIS_ROWS_H

#include "user/model/id_map.h"
#include "user/model/report.h"
#include "user/model/site.h"

/*
 * In which rows stacks are, by their ids: kept from report to report of one target, with the same
 * rules. All zero is an empty one.
 */
struct rows_known {
	struct id_map index;
	uint64_t *ids;
	size_t count, room;
};

void rows_known_release(struct rows_known *known);

/*
 * Makes report->rows, in place of those that are there, of all its stacks but hidden and unwanted
 * ones; sums are exact. A stack with frames that have not been named yet (`unnamed`: there may be
 * such) is a row of its own. Nothing for BY_STACK. `known`: NULL: nothing is. 0 or -ENOMEM.
 */
int rows_make(struct report *report, enum site_by by, const struct site_rules *rules, bool unnamed,
	      struct rows_known *known);

#endif
