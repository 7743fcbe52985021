// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/metrics_page.h"

#include <math.h>

#include "user/base/text.h"
#include "user/base/util.h"

const char *metrics_suffix(enum metric_type type)
{
	static const char *const suffixes[] = {
		[TYPE_GAUGE] = "", [TYPE_COUNTER] = "_total", [TYPE_INFO] = "_info"};

	return suffixes[type];
}

/* The older format knows samples, not families, and no info. The unit is the end of the name. */
void metrics_put_family(const struct metrics_page *p, const char *name, enum metric_type type,
			const char *unit, const char *help)
{
	static const char *const types[] = {
		[TYPE_GAUGE] = "gauge", [TYPE_COUNTER] = "counter", [TYPE_INFO] = "info"};

	if (p->syntax == METRICS_PROMETHEUS) {
		fprintf(p->out, "# HELP memleakbpf_%s%s %s\n", name, metrics_suffix(type), help);
		fprintf(p->out, "# TYPE memleakbpf_%s%s %s\n", name, metrics_suffix(type),
			types[type == TYPE_INFO ? TYPE_GAUGE : type]);
		return;
	}
	fprintf(p->out, "# TYPE memleakbpf_%s %s\n", name, types[type]);
	if (unit)
		fprintf(p->out, "# UNIT memleakbpf_%s %s\n", name, unit);
	fprintf(p->out, "# HELP memleakbpf_%s %s\n", name, help);
}

/*
 * Names are chosen by whoever runs a program, and one byte that is no UTF-8 would make the whole
 * page unreadable. What would act on a terminal goes, too: values end up in messages.
 */
void metrics_put_label(FILE *out, bool first, const char *name, const char *value)
{
	static const char *const escapes[] = {"\\\\", "\\\"", "\\n"};
	static const struct text_rules rules = {
		.special = "\\\"\n",
		.instead = escapes,
		.harmful = "?",
		.invalid = "\xef\xbf\xbd", /* U+FFFD */
	};

	fprintf(out, "%s%s=\"", first ? "" : ",", name);
	text_put(out, value, &rules);
	fputc('"', out);
}

/* Whole numbers in full: bytes are compared. */
void metrics_put_value(FILE *out, double value)
{
	if (value == floor(value) && fabs(value) < 0x1p53)
		fprintf(out, " %.0f\n", value);
	else
		fprintf(out, " %.15g\n", value);
}

void metrics_put_sample(const struct metrics_page *p, const char *name, enum metric_type type,
			double value)
{
	fprintf(p->out, "memleakbpf_%s%s", name, metrics_suffix(type));
	metrics_put_value(p->out, value);
}

bool metrics_is_shown(const struct survey_row *row)
{
	return !row->ended;
}

void metrics_put_process_labels(FILE *out, const struct survey_row *row)
{
	const struct {
		const char *name, *value;
	} labels[] = {
		{"comm", row->process.comm},   {"unit", row->unit},
		{"container", row->container}, {"pod", row->pod},
		{"pod_name", row->pod_name},
	};

	fprintf(out, "pid=\"%d\"", (int)row->process.pid);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (labels[i].value && *labels[i].value)
			metrics_put_label(out, false, labels[i].name, labels[i].value);
	}
}

void metrics_put_process_family(const struct metrics_page *p,
				const struct metrics_process_family *family, bool ended)
{
	metrics_put_family(p, family->name, family->type, family->unit, family->help);
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];
		double value;

		if ((!ended && !metrics_is_shown(row)) || !family->value(row, &value) ||
		    !isfinite(value))
			continue;
		fprintf(p->out, "memleakbpf_%s%s{", family->name, metrics_suffix(family->type));
		metrics_put_process_labels(p->out, row);
		fputc('}', p->out);
		metrics_put_value(p->out, value);
	}
}

void metrics_put_rows(const struct metrics_page *p, const struct metrics_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		metrics_put_family(p, rows[i].name, rows[i].type, rows[i].unit, rows[i].help);
		metrics_put_sample(p, rows[i].name, rows[i].type, rows[i].value);
	}
}
