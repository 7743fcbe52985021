/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A kept process of a survey's recording as a snapshot, to be compared with snapshots. */
#ifndef MEMLEAKBPF_SESSION_SURVEYED_H
#define MEMLEAKBPF_SESSION_SURVEYED_H

#include "user/model/survey_report.h"

/*
 * Makes a snapshot of a kept row's bad accesses; its target's number is the pid. Names stay the
 * reader's. NULL when out of memory.
 */
struct snapshot *surveyed_snapshot(const struct survey_report *report,
				   const struct survey_row *row);

#endif
