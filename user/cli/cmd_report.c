// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf report FILE`: a recording through any of the formats. */
#include <errno.h>
#include <stdlib.h>

#include "user/analysis/rank.h"
#include "user/analysis/stack_trends.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/session/output.h"
#include "user/session/playback.h"
#include "user/session/report_merged.h"
#include "user/survey/report_survey.h"
#include "user/session/suppressions.h"

/* What is kept of a target. */
struct followed {
	uint32_t target_id;
	struct stack_trends *trends; /* NULL: not wanted */
	struct snapshot *last;	     /* to be shown at the end; NULL: none */
};

struct report {
	const struct replay_config *config;
	struct playback *playback;
	struct output *output;
	struct suppressions *suppressions; /* NULL: none */
	bool last_only;
	struct followed *targets;
	size_t count, at; /* at: where the last snapshot's target is */
	uint64_t shown;
	struct report_survey *survey; /* NULL: nothing of one has come */
	struct report_merged *merged; /* NULL: each process has its own reports */
};

static struct followed *follow(struct report *r, uint32_t target_id)
{
	struct followed *grown;

	for (size_t i = 0; i < r->count; i++) {
		size_t at = (r->at + i) % r->count;

		if (r->targets[at].target_id == target_id) {
			r->at = at;
			return &r->targets[at];
		}
	}
	grown = reallocarray(r->targets, r->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	r->targets = grown;
	r->at = r->count;
	grown[r->count] = (struct followed){.target_id = target_id};
	/* Formats that take every stack show no trends. */
	if (!r->config->show.format->wants_all)
		grown[r->count].trends = stack_trends_new();
	return &grown[r->count++];
}

static int show(struct report *r, struct followed *f, struct snapshot *s)
{
	size_t room = r->config->show.top < s->stack_count ? r->config->show.top : s->stack_count;
	_cleanup_free_ struct stack **top = calloc(room ? room : 1, sizeof(*top));
	size_t n = 0;

	if (!top || suppress_snapshot(&r->config->filter, false, r->suppressions, s))
		return output_fail(r->output, -ENOMEM);
	if (f->trends && r->config->show.sort == RANK_GROWTH)
		stack_trends_judge_all(f->trends, s);
	if (!r->config->show.format->wants_all)
		n = rank_top(s, r->config->show.sort, top, room);
	for (size_t i = 0; f->trends && i < n; i++)
		stack_trends_judge(f->trends, top[i]);
	r->shown++;
	return output_snapshot(r->output, s, (const struct stack *const *)top, n);
}

/* Takes the snapshot over. */
static int take(struct report *r, struct snapshot *s)
{
	const struct replay_config *o = r->config;
	struct followed *f = follow(r, s->target_id);
	int err = 0;

	if (!f) {
		snapshot_free(s);
		return output_fail(r->output, -ENOMEM);
	}
	/* A trend knows what was before the range, too. */
	if (f->trends && stack_trends_update(f->trends, s))
		log_debug("no memory for the trends of all stacks");
	if (o->times.from.given && s->time_ns < playback_time(r->playback, &o->times.from)) {
		snapshot_free(s);
		return 0;
	}
	if (r->last_only) {
		snapshot_free(f->last);
		f->last = s;
		return 0;
	}
	err = show(r, f, s);
	snapshot_free(s);
	return err;
}

static int take_sum(void *ctx, struct snapshot *sum, struct stack_trends *trends)
{
	(void)trends; /* those that are kept of a target here are the same */
	return take(ctx, sum);
}

static int take_part(struct report *r, struct snapshot *s)
{
	int err;

	if (!r->merged)
		return take(r, s);
	err = report_merged_take(r->merged, s);
	return err == -ENOMEM ? output_fail(r->output, err) : err;
}

static bool is_late(const struct report *r, uint64_t time_ns)
{
	const struct replay_time *to =
		r->config->times.at.given ? &r->config->times.at : &r->config->times.to;

	return to->given && time_ns > playback_time(r->playback, to);
}

static int take_survey(struct report *r, const struct survey_report *report)
{
	const struct replay_time *from = &r->config->times.from;
	int err = 0;

	if (from->given && report->time_ns < playback_time(r->playback, from))
		return 0;
	if (!r->survey)
		err = report_survey_new(r->config, r->output, r->last_only, &r->survey);
	if (!err)
		err = report_survey_take(r->survey, report);
	r->shown++;
	return err;
}

static int go_through(struct report *r)
{
	const struct survey_report *survey;
	struct snapshot *s;
	int got, err = 0;

	while (!err && (got = playback_next_any(r->playback, r->config, &s, &survey)) > 0) {
		if (is_late(r, survey ? survey->time_ns : s->time_ns))
			snapshot_free(s);
		else
			err = survey ? take_survey(r, survey) : take_part(r, s);
	}
	if (!err && r->merged)
		err = report_merged_finish(r->merged);
	if (!err && got < 0)
		err = got;
	if (r->survey && !output_error(r->output))
		report_survey_finish(r->survey);
	/* What came before the damage is good. */
	for (size_t i = 0; r->last_only && i < r->count && !output_error(r->output); i++) {
		if (r->targets[i].last)
			show(r, &r->targets[i], r->targets[i].last);
	}
	return err ? err : output_error(r->output);
}

int cmd_report(const union command_config *command)
{
	const struct replay_config *config = &command->replay;
	const char *path = config->files[0];
	bool range = config->times.from.given || config->times.to.given;
	struct report r = {
		.config = config,
		.last_only = config->times.at.given || (!range && !config->show.format->history),
	};
	int err = playback_open(path, config, &r.playback), close_err;

	if (!err)
		err = suppress_open(&config->filter, &r.suppressions);
	if (!err)
		err = output_open(&config->show, config->filter.leak_only,
				  playback_info(r.playback)->older_ns, false, &r.output);
	if (!err && config->show.merge) {
		r.merged = report_merged_new(take_sum, &r);
		err = r.merged ? 0 : output_fail(r.output, -ENOMEM);
	}
	if (!err)
		err = go_through(&r);
	if (!err && !r.shown)
		log_warn("%s: no snapshot%s", path,
			 range || config->times.at.given || config->pids.count
				 ? " of that time and process"
				 : "");
	report_survey_free(r.survey);
	report_merged_free(r.merged);
	close_err = output_close(r.output);
	for (size_t i = 0; i < r.count; i++) {
		stack_trends_free(r.targets[i].trends);
		snapshot_free(r.targets[i].last);
	}
	free(r.targets);
	suppress_close(r.suppressions);
	playback_free(r.playback);
	return err || (close_err && close_err != -EPIPE) ? 1 : 0;
}
