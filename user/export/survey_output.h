/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The survey's outputs. */
#ifndef MEMLEAKBPF_EXPORT_SURVEY_OUTPUT_H
#define MEMLEAKBPF_EXPORT_SURVEY_OUTPUT_H

#include <stdio.h>

#include "user/export/export.h"
#include "user/model/survey_report.h"

struct survey_output {
	FILE *out;
	struct export_options options;
	bool redraw; /* text on a terminal: each report takes the place of the last one */
	bool utf8;   /* the reader's characters may be other than ASCII: sparklines */
};

/*
 * A table for people, at most 100 columns wide, and the stacks of what was drilled. 0 or -errno of
 * the failed write, not logged.
 */
int survey_write_text(const struct survey_output *output, const struct survey_report *report);

/* One line; the keys are a contract (docs/memleakbpf.1). 0 or -errno. */
int survey_write_json(const struct survey_output *output, const struct survey_report *report);

#endif
