/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What pages of metrics are made of: families and their samples, in either syntax. Part of survey_metrics. */
#ifndef MEMLEAKBPF_EXPORT_METRICS_PAGE_H
#define MEMLEAKBPF_EXPORT_METRICS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "user/export/survey_metrics.h"

struct metrics_page {
	FILE *out;
	enum metrics_syntax syntax;
	const struct survey_report *report;
};

enum metric_type {
	TYPE_GAUGE,
	TYPE_COUNTER,
	TYPE_INFO,
};

/* False: not known, and then there is no sample. */
typedef bool metrics_process_value(const struct survey_row *row, double *value);

struct metrics_process_family {
	const char *name;
	enum metric_type type;
	const char *unit, *help; /* unit: NULL, none */
	metrics_process_value *value;
};

/* A family of one sample, without labels. */
struct metrics_row {
	const char *name;
	enum metric_type type;
	const char *unit, *help;
	double value;
};

/* What samples of a type have behind the family's name. */
const char *metrics_suffix(enum metric_type type);

/* All names without "memleakbpf_". `unit`: NULL, none. */
void metrics_put_family(const struct metrics_page *p, const char *name, enum metric_type type,
			const char *unit, const char *help);
void metrics_put_label(FILE *out, bool first, const char *name, const char *value);
/* And the end of the line. */
void metrics_put_value(FILE *out, double value);
void metrics_put_sample(const struct metrics_page *p, const char *name, enum metric_type type,
			double value);
void metrics_put_rows(const struct metrics_page *p, const struct metrics_row *rows, size_t count);

/* One that has ended has no value any more: its series end. */
bool metrics_is_shown(const struct survey_row *row);
void metrics_put_process_labels(FILE *out, const struct survey_row *row);
/* `ended`: of those that have ended, too. */
void metrics_put_process_family(const struct metrics_page *p,
				const struct metrics_process_family *family, bool ended);

#endif
