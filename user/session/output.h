/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where results go: standard output or the file of -o, through the exporter of -f. */
#ifndef MEMLEAKBPF_SESSION_OUTPUT_H
#define MEMLEAKBPF_SESSION_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/session/session_config.h"
#include "user/export/export.h"

struct output;

/*
 * Opens it. `live`: documents are to be written at every snapshot, not at the end only, where the
 * output is a file, and what is on a terminal is of now. `leak_only`: say that the rest is hidden.
 * `secret`: a file is for its owner's eyes alone. What a file held before stays until the first
 * report, or output_begin(). 0 or -errno, logged.
 */
int output_open(const struct show_config *config, bool leak_only, uint64_t older_ns, bool live,
		bool secret, struct output **out);

/* Columns of the terminal that the file is; 0: it is none, or does not know. */
size_t output_width(FILE *file);

/*
 * From now on the output is what this run makes of it, if only an empty document. 0, or the first
 * failure.
 */
int output_begin(struct output *output);

/*
 * As struct exporter_format's. 0 or -errno; the first failure is logged, and remembered: nothing is
 * written after it.
 */
int output_report(struct output *output, const struct report *report,
		  const struct stack *const *shown, size_t shown_count);

/*
 * The reports until the next call are of one time, or (not `begins`) have all come: struct
 * exporter_format's round(). 0 or the first failure, as above.
 */
int output_round(struct output *output, bool begins);

/* The same of a survey, for a format that has them. */
int output_survey(struct output *output, const struct survey_report *report);

/* The same of an inspection. */
int output_inspection(struct output *output, const struct inspection *inspection, size_t top);

/*
 * The same, but for the end: what it looks like is kept, in place of what was kept before, and
 * written by output_kept(). For formats that are not documents.
 */
int output_keep_survey(struct output *output, const struct survey_report *report);
int output_kept(struct output *output); /* nothing kept is nothing written */

/* Counts as a failed write. Returns err. */
int output_fail(struct output *output, int err);
int output_error(const struct output *output); /* 0, or the first failure */

/*
 * Writes what is left, if anything has begun, and frees it. 0, or the first failure. NULL is fine.
 */
int output_close(struct output *output);

#endif
