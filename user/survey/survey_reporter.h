/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a report of the survey says, and of which processes. */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_REPORTER_H
#define MEMLEAKBPF_SURVEY_SURVEY_REPORTER_H

#include "user/model/survey_report.h"
#include "user/survey/survey_driller.h"
#include "user/keep/survey_keeper.h"
#include "user/look/survey_reader.h"

/* Who a report is for. */
enum survey_audience {
	SURVEY_FOR_PEOPLE,  /* the top N, and last lines of what has exited */
	SURVEY_FOR_FILES,   /* everything; comes before the one for people */
	SURVEY_FOR_METRICS, /* the top N of those that live */
};

struct survey_reporter;

/*
 * All must outlive it. `reader`: which of the kernel's ways it reads by. Elapsed time and the share of the tool
 * itself count from now on. NULL when out of memory.
 */
struct survey_reporter *survey_reporter_new(const struct survey_config *config,
					    struct history *history,
					    const struct survey_scope *scope,
					    const struct survey_driller *driller,
					    struct survey_keeper *keeper,
					    const struct survey_reader *reader);
void survey_reporter_free(struct survey_reporter *reporter); /* NULL is fine */

/* Counts a look, at that list. Returns how many there have been. */
uint64_t survey_reporter_looked(struct survey_reporter *reporter, const struct process_list *list);

/* Has any process ever been one of those that the survey is about? Told by reports. */
bool survey_reporter_matched(const struct survey_reporter *reporter);

/*
 * A report with at most `top` of those that live; its rows are the reporter's own, valid until the
 * next one. 0 or -ENOMEM, not logged.
 */
int survey_reporter_make(struct survey_reporter *reporter, size_t top,
			 enum survey_audience audience, struct survey_report *report);

/*
 * Counts one more living process in *living. True when it is among the first `top`, which have a
 * row. The others add to the report's rest.
 */
bool survey_report_has_row(struct survey_report *report, size_t top, size_t *living,
			   const struct process_sample *process);

#endif
