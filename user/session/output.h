/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes results to standard output or the file of -o, through the exporter of -f. */
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
 * Opens it. `live`: on a file, documents are to be written at every snapshot, not only at the end;
 * a terminal shows the present. `leak_only`: say that the rest is hidden. `secret`: only its owner
 * may read the file. The file's old contents stay until the first report, or output_begin(). 0 or
 * -errno, logged.
 */
int output_open(const struct show_config *config, bool leak_only, uint64_t older_ns, bool live,
		bool secret, struct output **out);

/* The file's columns if it is a terminal; 0: it is none, or does not know. */
size_t output_width(FILE *file);

/*
 * From now on the output has this run's results, if only an empty document. 0, or the first
 * failure.
 */
int output_begin(struct output *output);

/*
 * As in struct exporter_format. 0 or -errno. The first failure is logged, and remembered: nothing
 * is written after it.
 */
int output_report(struct output *output, const struct report *report,
		  const struct stack *const *shown, size_t shown_count);

/*
 * The reports until the next call are of one time; or (not `begins`) all of them have come: struct
 * exporter_format's round(). 0 or the first failure, as above.
 */
int output_round(struct output *output, bool begins);

/* The same for a survey, in a format that has them. */
int output_survey(struct output *output, const struct survey_report *report);

/* The same for an inspection. */
int output_inspection(struct output *output, const struct inspection *inspection, size_t top);

/* The same of the kernel's memory. */
int output_kernel(struct output *output, const struct kernel_report *report);

/*
 * The same, for the end: keeps the rendered report, in place of an earlier one, until output_kept()
 * writes it. For formats that are not documents.
 */
int output_keep_survey(struct output *output, const struct survey_report *report);
int output_kept(struct output *output); /* nothing kept is nothing written */

/* Notes err as a failed write. Returns err. */
int output_fail(struct output *output, int err);
int output_error(const struct output *output); /* 0, or the first failure */

/*
 * Writes the rest, if anything has begun, and frees the output. 0, or the first failure. NULL is
 * fine.
 */
int output_close(struct output *output);

#endif
