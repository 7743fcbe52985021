// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf report FILE`: a recording through any of the formats. */
#include <errno.h>

#include "user/base/log.h"
#include "user/cli/commands.h"
#include "user/session/pipeline.h"
#include "user/session/report_inspection.h"
#include "user/session/source_recording.h"
#include "user/survey/report_survey.h"

struct report_command {
	const struct replay_config *config;
	struct source_recording *recording;
	struct pipeline *pipeline;
	bool last_only;
	struct report_survey *survey; /* NULL: no survey has come */
	uint64_t survey_reports;
	uint64_t survey_ns; /* of its last report, shown or not */
	struct report_inspections inspections;
	bool with_peak, without_peak; /* snapshots, with --at peak */
};

static const struct replay_time *report_end(const struct report_command *r)
{
	return r->config->times.at.given ? &r->config->times.at : &r->config->times.to;
}

static bool report_survey_is_late(struct report_command *r, const struct survey_report *survey)
{
	uint64_t before = r->survey_ns && r->survey_ns < survey->time_ns
				  ? survey->time_ns - r->survey_ns
				  : survey->elapsed_ns;

	r->survey_ns = survey->time_ns;
	return source_recording_is_late(r->recording, report_end(r), survey->time_ns, before);
}

static int report_take_survey(struct report_command *r, const struct survey_report *report)
{
	const struct replay_time *from = &r->config->times.from;
	int err = 0;

	if (from->given && report->time_ns < source_recording_time(r->recording, from))
		return 0;
	if (!r->survey)
		err = report_survey_new(r->config, pipeline_output(r->pipeline),
					pipeline_suppressions(r->pipeline), r->last_only,
					&r->survey);
	if (!err)
		err = report_survey_take(r->survey, report);
	r->survey_reports++;
	return err;
}

static int report_take_inspection(struct report_command *r, struct inspection *inspection)
{
	const struct replay_time *from = &r->config->times.from;

	if ((!from->given || inspection->time_ns >= source_recording_time(r->recording, from)) &&
	    !source_recording_is_late(r->recording, report_end(r), inspection->time_ns, 0))
		return report_inspection_take(&r->inspections, inspection);
	inspection_free(inspection);
	return 0;
}

static int report_take(struct report_command *r, const struct recording_item *item)
{
	if (item->inspection)
		return report_take_inspection(r, item->inspection);
	if (item->survey)
		return report_survey_is_late(r, item->survey) ? 0
							      : report_take_survey(r, item->survey);
	if (r->config->times.at.peak) {
		r->without_peak |= !item->snapshot->peak.captured_ns;
		r->with_peak |= item->snapshot->peak.captured_ns != 0;
		snapshot_to_peak(item->snapshot);
	}
	if (r->config->times.at.peak && !item->snapshot->peak.captured_ns) {
		snapshot_free(item->snapshot);
		return 0;
	}
	if (!source_recording_snapshot_is_late(r->recording, report_end(r), item->snapshot))
		return pipeline_take(r->pipeline, item->snapshot);
	snapshot_free(item->snapshot);
	return 0;
}

static int report_go_through(struct report_command *r)
{
	struct recording_item item;
	int got, err = 0;

	while (!err && (got = source_recording_next_any(r->recording, &item)) > 0)
		err = report_take(r, &item);
	if (!err && got < 0)
		err = got;
	/* The part before the damage is good. */
	if (r->survey && !pipeline_error(r->pipeline))
		report_survey_finish(r->survey);
	pipeline_finish(r->pipeline);
	if (!err && !pipeline_error(r->pipeline))
		err = report_inspection_finish(&r->inspections);
	if (!err)
		output_begin(pipeline_output(r->pipeline));
	return err ? err : pipeline_error(r->pipeline);
}

static void report_say_found(const struct report_command *r)
{
	uint64_t first_ns, last_ns;

	pipeline_shown_times(r->pipeline, &first_ns, &last_ns);
	source_recording_say_found(r->recording, "--at", &r->config->times.at, first_ns, last_ns);
}

int cmd_report(const union command_config *command)
{
	const struct replay_config *config = &command->replay;
	const char *path = config->files[0];
	bool range = config->times.from.given || config->times.to.given;
	struct report_command r = {
		.config = config,
		.last_only = config->times.at.given || (!range && !config->show.format->history),
	};
	struct pipeline_config reports = {
		.filter = &config->filter,
		.show = &config->show,
		.last_only = r.last_only,
	};
	int err = source_recording_open(path, config, &r.recording), close_err;

	if (!err) {
		reports.older_ns = source_recording_info(r.recording)->older_ns;
		err = pipeline_new(&reports, source_recording_source(r.recording), &r.pipeline);
	}
	if (!err) {
		r.inspections = (struct report_inspections){
			.config = config,
			.output = pipeline_output(r.pipeline),
			.last_only = r.last_only,
		};
		err = report_go_through(&r);
	}
	if (!err && r.without_peak && !r.with_peak) {
		log_error("--at peak: %s has no peak; record with --peak", path);
		err = -ENODATA;
	}
	if (!err && !pipeline_shown(r.pipeline) && !r.survey_reports && !r.inspections.taken)
		source_recording_say_nothing(r.recording, path);
	if (!err && config->times.at.given)
		report_say_found(&r);
	report_survey_free(r.survey);
	report_inspection_release(&r.inspections);
	close_err = pipeline_free(r.pipeline);
	source_recording_free(r.recording);
	return err || (close_err && close_err != -EPIPE) ? 1 : 0;
}
