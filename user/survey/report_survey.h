/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `memleakbpf report` of a survey's recording. */
#ifndef MEMLEAKBPF_SURVEY_REPORT_SURVEY_H
#define MEMLEAKBPF_SURVEY_REPORT_SURVEY_H

#include <stdbool.h>

#include "user/analysis/suppress.h"
#include "user/session/session_config.h"
#include "user/session/output.h"
#include "user/model/survey_report.h"

struct report_survey;

/*
 * `last_only`: nothing is shown before the end. All must outlive it; `suppressions`, of bad accesses, may be NULL. 0 or
 * -ENOMEM, logged.
 */
int report_survey_new(const struct replay_config *config, struct output *output,
		      struct suppressions *suppressions, bool last_only,
		      struct report_survey **out);

/* One report, with all of its processes. 0 or -errno, logged. */
int report_survey_take(struct report_survey *r, const struct survey_report *report);

/* Shows what has been left for the end. 0 or -errno, logged. */
int report_survey_finish(struct report_survey *r);
void report_survey_free(struct report_survey *r); /* NULL is fine */

#endif
