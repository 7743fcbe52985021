/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a survey's recording has of a process that it keeps, as a snapshot, for what compares snapshots. */
#ifndef MEMLEAKBPF_SESSION_SURVEYED_H
#define MEMLEAKBPF_SESSION_SURVEYED_H

#include "user/model/survey_report.h"

/*
 * The bad accesses of a row that is kept; its target's number is the pid. Names stay the reader's. NULL when out of memory.
 */
struct snapshot *surveyed_snapshot(const struct survey_report *report,
				   const struct survey_row *row);

#endif
