// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/report_survey.h"

#include <errno.h>

#include "user/base/util.h"
#include "user/session/playback.h"
#include "user/export/survey_output.h"

struct report_survey {
	const struct replay_config *config;
	struct output *output;
	bool last_only;
	struct survey_row *rows; /* those of the report that are shown */
	char *last;		 /* what the last report looks like; NULL: there was none */
	size_t last_len;
};

int report_survey_new(const struct replay_config *config, struct output *output, bool last_only,
		      struct report_survey **out)
{
	struct report_survey *r = calloc(1, sizeof(*r));

	if (!r)
		return output_fail(output, -ENOMEM);
	r->config = config;
	r->output = output;
	r->last_only = last_only;
	*out = r;
	return 0;
}

void report_survey_free(struct report_survey *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r->last);
	free(r);
}

/* As the survey itself would have shown it: of those that live the top N, the others as a sum. */
static int choose_rows(struct report_survey *r, const struct survey_report *all,
		       struct survey_report *shown)
{
	struct survey_row *rows = reallocarray(r->rows, all->row_count + 1, sizeof(*rows));
	size_t living = 0;

	if (!rows)
		return -ENOMEM;
	r->rows = rows;
	*shown = *all;
	shown->rows = rows;
	shown->row_count = 0;
	for (size_t i = 0; i < all->row_count; i++) {
		const struct survey_row *row = &all->rows[i];

		if (!playback_wants(r->config, row->process.pid))
			continue;
		if (row->ended || living++ < r->config->show.top) {
			rows[shown->row_count++] = *row;
			continue;
		}
		shown->rest.count++;
		shown->rest.anon += row->process.anon;
		shown->rest.swap += row->process.swap;
		shown->rest.shmem += row->process.shmem;
	}
	return 0;
}

static int write_report(const struct report_survey *r, FILE *out,
			const struct survey_report *report)
{
	struct survey_output to = {.out = output_stream(r->output)};

	output_survey_options(&r->config->show, &to);
	/* One after the other, as they are read. */
	to.redraw = false;
	to.out = out;
	return r->config->show.format->show_survey(&to, report);
}

/* The report is gone when the next one has come: what is kept is what it looks like. */
static int keep(struct report_survey *r, const struct survey_report *report)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = out ? write_report(r, out, report) : -ENOMEM;

	if (out && close_memstream(out))
		err = -ENOMEM;
	if (err) {
		free(text);
		return err;
	}
	free(r->last);
	r->last = text;
	r->last_len = len;
	return 0;
}

/* For formats that know no surveys: what the drills have counted, as snapshots of the processes. */
static int show_windows(struct report_survey *r, const struct survey_report *report)
{
	int err = 0;

	for (size_t i = 0; i < report->row_count && !err; i++) {
		const struct survey_drill *drill = report->rows[i].drill;
		struct snapshot s;

		if (!drill || !drill->snapshot)
			continue;
		s = *drill->snapshot;
		/* The last window of a process takes the place of the one before. */
		s.target_id = (uint32_t)s.pid;
		err = output_snapshot(r->output, &s, NULL, 0);
	}
	return err;
}

int report_survey_take(struct report_survey *r, const struct survey_report *report)
{
	struct survey_report shown;
	int err;

	if (!r->config->show.format->show_survey)
		return r->config->show.format->survey ? output_survey(r->output, report)
						      : show_windows(r, report);
	err = choose_rows(r, report, &shown);
	if (!err)
		err = r->last_only ? keep(r, &shown)
				   : write_report(r, output_stream(r->output), &shown);
	return err ? output_fail(r->output, err) : 0;
}

int report_survey_finish(struct report_survey *r)
{
	FILE *out = output_stream(r->output);

	if (!r->last)
		return 0;
	errno = 0;
	if (fwrite(r->last, 1, r->last_len, out) == r->last_len && !fflush(out))
		return 0;
	return output_fail(r->output, errno ? -errno : -EIO);
}
