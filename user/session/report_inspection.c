// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/report_inspection.h"

#include <errno.h>
#include <stdlib.h>

#include "user/analysis/findings.h"
#include "user/base/log.h"

enum inspection_order report_inspection_order(enum rank_by sort)
{
	switch (sort) {
	case RANK_COUNT:
		return INSPECTION_BY_COUNT;
	case RANK_GROWTH:
		return INSPECTION_BY_GROWTH;
	default:
		return INSPECTION_BY_BYTES;
	}
}

static int report_inspection_show(struct report_inspections *r, struct inspection *inspection)
{
	const struct show_config *show = &r->config->show;
	int err = inspection_sort(inspection, report_inspection_order(show->sort));

	err = err ?: findings_of_inspection(inspection);
	return err ? output_fail(r->output, err)
		   : output_inspection(r->output, inspection, show->top);
}

/* Replaces an earlier look at the process. */
static int report_inspection_keep(struct report_inspections *r, struct inspection *inspection)
{
	struct inspection **grown;

	for (size_t i = 0; i < r->last_count; i++) {
		/*
		 * Two cores may be of processes with the same number, from containers for instance.
		 */
		if (r->last[i]->pid != inspection->pid || r->last[i]->core || inspection->core)
			continue;
		inspection_free(r->last[i]);
		r->last[i] = inspection;
		return 0;
	}
	grown = reallocarray(r->last, r->last_count + 1, sizeof(struct inspection *));
	if (!grown) {
		inspection_free(inspection);
		return output_fail(r->output, -ENOMEM);
	}
	r->last = grown;
	r->last[r->last_count++] = inspection;
	return 0;
}

int report_inspection_take(struct report_inspections *r, struct inspection *inspection)
{
	const struct exporter_format *format = r->config->show.format;
	char names[EXPORT_NAMES_MAX];
	int err;

	r->taken++;
	if (!export_can(format, inspection->traced ? EXPORT_INSPECTIONS : EXPORT_PROFILES)) {
		bool beside = inspection->traced;

		inspection_free(inspection);
		/* The format shows the snapshot of the same moment instead. */
		if (beside)
			return 0;
		log_error("-f: the recording is of inspect, which has no stacks; '%s' cannot show "
			  "it, give one of %s",
			  format->name, export_names(names, EXPORT_PROFILES, ", "));
		return -EINVAL;
	}
	if (r->last_only)
		return report_inspection_keep(r, inspection);
	err = report_inspection_show(r, inspection);
	inspection_free(inspection);
	return err;
}

int report_inspection_finish(struct report_inspections *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->last_count; i++)
		err = report_inspection_show(r, r->last[i]);
	return err;
}

void report_inspection_release(struct report_inspections *r)
{
	for (size_t i = 0; i < r->last_count; i++)
		inspection_free(r->last[i]);
	free(r->last);
}
