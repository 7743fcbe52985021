/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What there was to say at the ends of processes, from one look of a recording to the next. Who
 * sees only the last look is told all of it. Private to report_survey.
 */
#ifndef MEMLEAKBPF_SURVEY_REPORT_ENDS_H
#define MEMLEAKBPF_SURVEY_REPORT_ENDS_H

#include "user/model/survey_report.h"

/* So many are told one by one; of more those of a name are one. */
#define REPORT_ENDS_SINGLE 16
/* So many names there may be; those of others are counted. */
#define REPORT_ENDS_NAMES 1024

/* All zero: none so far. */
struct report_ends {
	struct survey_end *items; /* the one that was told last stands last */
	size_t count, room;
	bool by_name;
	size_t left_out; /* processes */
};

/* Takes in that the row's process has ended; nothing where there is nothing to say. 0 or -ENOMEM. */
int report_ends_take(struct report_ends *ends, const struct survey_report *report,
		     const struct survey_row *row);

void report_ends_release(struct report_ends *ends);

#endif
