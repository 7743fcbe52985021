// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/report_survey.h"

#include <errno.h>

#include "user/base/util.h"
#include "user/session/source_recording.h"
#include "user/session/suppressions.h"
#include "user/survey/report_ends.h"
#include "user/survey/survey_reporter.h"

struct report_survey {
	const struct replay_config *config;
	struct output *output;
	struct suppressions *suppressions;
	bool last_only;
	struct survey_row *rows; /* those of the report that are shown */
	struct report_ends ends; /* with last_only */
};

int report_survey_new(const struct replay_config *config, struct output *output,
		      struct suppressions *suppressions, bool last_only, struct report_survey **out)
{
	struct report_survey *r = calloc(1, sizeof(*r));

	if (!r)
		return output_fail(output, -ENOMEM);
	r->config = config;
	r->output = output;
	r->suppressions = suppressions;
	r->last_only = last_only;
	*out = r;
	return 0;
}

void report_survey_free(struct report_survey *r)
{
	if (!r)
		return;
	free(r->rows);
	report_ends_release(&r->ends);
	free(r);
}

/* As the survey itself would have shown it: of those that live the top N, the others as a sum. */
static int report_survey_choose(struct report_survey *r, const struct survey_report *all,
				struct survey_report *shown)
{
	struct survey_row *rows = reallocarray(r->rows, all->row_count + 1, sizeof(*rows));
	size_t living = 0;

	if (!rows)
		return -ENOMEM;
	r->rows = rows;
	*shown = *all;
	shown->rows = rows;
	shown->ends = r->ends.items;
	shown->end_count = r->ends.count;
	shown->ends_left_out = r->ends.left_out;
	shown->row_count = 0;
	for (size_t i = 0; i < all->row_count; i++) {
		const struct survey_row *row = &all->rows[i];

		if (!source_recording_wants(r->config, row->process.pid, row->process.comm))
			continue;
		if (row->ended ||
		    survey_report_has_row(shown, r->config->show.top, &living, &row->process))
			rows[shown->row_count++] = *row;
	}
	return 0;
}

/* For the looks that follow: this one may be shown itself. */
static int report_survey_take_ends(struct report_survey *r, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; !err && i < report->row_count; i++) {
		if (source_recording_wants(r->config, report->rows[i].process.pid,
					   report->rows[i].process.comm))
			err = report_ends_take(&r->ends, report, &report->rows[i]);
	}
	return err ? output_fail(r->output, err) : 0;
}

/* For formats that know no surveys: what the drills have counted, as snapshots of the processes. */
static int report_survey_windows(struct report_survey *r, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		const struct survey_row *row = &report->rows[i];
		const struct survey_drill *drill = row->drill;
		struct report report;
		struct snapshot s;

		if (!drill || !drill->snapshot)
			continue;
		s = *drill->snapshot;
		report = *drill->report;
		report.snapshot = &s;
		report.place =
			(struct report_place){row->unit, row->container, row->pod, row->pod_name};
		/* The last window of a process takes the place of the one before. */
		s.target_id = (uint32_t)s.pid;
		err = output_report(r->output, &report, NULL, 0);
	}
	return err;
}

static void report_survey_suppress(struct report_survey *r, const struct survey_report *report)
{
	for (size_t i = 0; i < report->row_count; i++) {
		const struct survey_kept *kept = report->rows[i].kept;

		if (!kept)
			continue;
		suppress_misuses(r->suppressions, kept->bad_accesses, kept->bad_access_count);
		misuses_sort(kept->bad_accesses, kept->bad_access_count);
	}
}

int report_survey_take(struct report_survey *r, const struct survey_report *report)
{
	const struct exporter_format *format = r->config->show.format;
	struct survey_report shown;
	int err;

	report_survey_suppress(r, report);
	if (!format->survey)
		return report_survey_windows(r, report);
	if (format->wants_all)
		return output_survey(r->output, report);
	err = report_survey_choose(r, report, &shown);
	if (err)
		return output_fail(r->output, err);
	if (!r->last_only)
		return output_survey(r->output, &shown);
	err = output_keep_survey(r->output, &shown);
	return err ?: report_survey_take_ends(r, report);
}

int report_survey_finish(struct report_survey *r)
{
	return output_kept(r->output);
}
