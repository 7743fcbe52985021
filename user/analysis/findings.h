/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a person would say of a report, computed from its figures (user/model/finding.h). That is where the
 * memory is, which line of the program has it, what is lost, what to do next. Nothing is guessed, and what
 * was not seen is not called clear.
 */
#ifndef MEMLEAKBPF_ANALYSIS_FINDINGS_H
#define MEMLEAKBPF_ANALYSIS_FINDINGS_H

#include "user/model/finding.h"
#include "user/model/inspection.h"
#include "user/model/report.h"
#include "user/model/site.h"

/*
 * Sets report->findings, in place of those that are there. The report has rows by line
 * (user/analysis/rows.h, BY_LINE), and trends where they are known. `older`: only blocks that
 * stack.older counts matter. rules: NULL: none. 0 or -ENOMEM.
 */
int findings_of_report(struct report *report, bool older, const struct site_rules *rules);

/* Sets inspection->findings, likewise. */
int findings_of_inspection(struct inspection *inspection);

#endif
