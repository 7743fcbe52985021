/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A report of the survey as metrics, for Prometheus and what else reads its formats. How many
 * series there are is bounded by the report's rows: all other processes are summed.
 */
#ifndef MEMLEAKBPF_EXPORT_SURVEY_METRICS_H
#define MEMLEAKBPF_EXPORT_SURVEY_METRICS_H

#include <stddef.h>

#include "user/model/survey_report.h"

enum metrics_syntax {
	/* OpenMetrics 1.0.0: https://prometheus.io/docs/specs/om/open_metrics_spec/ */
	METRICS_OPENMETRICS,
	/*
	 * the older text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
	 */
	METRICS_PROMETHEUS,
	METRICS_SYNTAXES,
};

/*
 * What an HTTP Accept header asks for: OpenMetrics when it is named, and else the older format,
 * which every tool reads (promtool takes no other). NULL: no header.
 */
enum metrics_syntax metrics_choose_syntax(const char *accept);

/* For the HTTP Content-Type header. */
const char *metrics_content_type(enum metrics_syntax syntax);

/* 0 and *text (malloc'ed, *size bytes); -ENOMEM. */
int survey_format_metrics(const struct survey_report *report, enum metrics_syntax syntax,
			  char **text, size_t *size);

#endif
