// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/pipeline.h"

#include <errno.h>
#include <stdlib.h>

#include "user/analysis/rank.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/kept.h"
#include "user/session/merged.h"
#include "user/session/suppressions.h"

struct pipeline {
	struct pipeline_config config;
	const struct source *source;
	struct output *output;
	struct suppressions *suppressions; /* NULL: none */
	struct merged *merged;		   /* NULL: each process has its own reports */
	struct kept *processes, *programs;
	struct outcome outcome;
	uint64_t shown;
};

int pipeline_new(const struct pipeline_config *config, const struct source *source,
		 struct pipeline **out)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return log_errno(ENOMEM, "no memory for reports");
	p->config = *config;
	p->source = source;
	err = suppress_open(config->filter, &p->suppressions);
	if (!err)
		err = output_open(config->show, config->filter->leak_only, config->older_ns,
				  config->live, &p->output);
	if (!err && config->show->merge) {
		p->merged = merged_new();
		err = p->merged ? 0 : output_fail(p->output, -ENOMEM);
	}
	if (err) {
		pipeline_free(p);
		return err;
	}
	*out = p;
	return 0;
}

int pipeline_free(struct pipeline *p)
{
	int err;

	if (!p)
		return 0;
	/* A document may be written only now, with names that are the merged ones'. */
	err = output_close(p->output);
	merged_free(p->merged);
	kept_free(&p->processes);
	kept_free(&p->programs);
	suppress_close(p->suppressions);
	free(p);
	return err;
}

/* ---- names -------------------------------------------------------------------------------- */

static int pipeline_name(struct pipeline *p, const struct snapshot *s, struct stack *stack)
{
	uint32_t target_id = s->target_id;

	if (!p->source->ops->name_stack)
		return 0;
	/* A sum's stacks are of several processes; those that have ended have left their frames. */
	if (s->processes && !merged_member(p->merged, stack, &target_id))
		return 0;
	return p->source->ops->name_stack(p->source, target_id, stack);
}

static int pipeline_name_all(struct pipeline *p, struct snapshot *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->stack_count; i++)
		err = pipeline_name(p, s, &s->stacks[i]);
	return err;
}

/* Patterns are about names: what is live must have its own. */
static int pipeline_name_live(struct pipeline *p, struct snapshot *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->stack_count; i++) {
		if (s->stacks[i].live.count)
			err = pipeline_name(p, s, &s->stacks[i]);
	}
	return err;
}

static int pipeline_name_bad_frees(struct pipeline *p, struct snapshot *s)
{
	int err = 0;

	if (!p->source->ops->name_bad_free)
		return 0;
	for (size_t i = 0; !err && i < s->bad_free_count; i++)
		err = p->source->ops->name_bad_free(p->source, s->target_id, &s->bad_frees[i]);
	return err;
}

/* ---- stages ------------------------------------------------------------------------------- */

/* Without names nothing is suppressed. */
static void pipeline_suppress_stacks(struct pipeline *p, struct snapshot *s)
{
	const struct filter_config *filter = p->config.filter;
	int err = 0;

	if (suppress_wanted(filter, p->config.outcome, p->suppressions, s))
		err = pipeline_name_live(p, s);
	err = err ?: suppress_stacks(filter, p->config.outcome, p->suppressions, s);
	if (err)
		log_errno(err, "suppressions are not applied");
}

static void pipeline_suppress_bad_frees(struct pipeline *p, struct snapshot *s)
{
	int err = pipeline_name_bad_frees(p, s);

	if (err)
		log_errno(err, "suppressions are not applied");
	else
		suppress_bad_frees(p->suppressions, s);
}

/* Ranks, names and prints: a snapshot of which is known what is suppressed. */
static int pipeline_print(struct pipeline *p, struct kept *kept, struct snapshot *s)
{
	const struct show_config *show = p->config.show;
	size_t room = show->top < s->stack_count ? show->top : s->stack_count, n = 0;
	_cleanup_free_ struct stack **top = calloc(room + 1, sizeof(*top));
	int err = top ? 0 : -ENOMEM;

	p->shown++;
	if (!err && show->format->wants_all) {
		err = pipeline_name_all(p, s);
	} else if (!err) {
		if (show->sort == RANK_GROWTH)
			stack_trends_judge_all(kept->trends, s);
		n = rank_top(s, show->sort, top, room);
	}
	for (size_t i = 0; !err && i < n; i++) {
		stack_trends_judge(kept->trends, top[i]);
		err = pipeline_name(p, s, top[i]);
	}
	if (err)
		return output_fail(p->output, err);
	return output_snapshot(p->output, s, (const struct stack *const *)top, n);
}

/* What a report is about: a process, or the sum of a program's. */
static int pipeline_report(struct pipeline *p, struct kept *kept, struct snapshot *s)
{
	/* A trend knows what was before the range that is shown, too. */
	if (kept->trends && stack_trends_update(kept->trends, s))
		log_debug("no memory for the trends of all stacks");
	if (p->source->ops->shows && !p->source->ops->shows(p->source, s->time_ns))
		return 0;
	kept->to_show = p->config.last_only;
	if (kept->to_show)
		return 0;
	pipeline_suppress_stacks(p, s);
	pipeline_suppress_bad_frees(p, s);
	return pipeline_print(p, kept, s);
}

/* Formats that take every stack show no trends. */
static struct kept *pipeline_keep(struct pipeline *p, struct kept **table, uint32_t target_id)
{
	bool reported = table == &p->programs || !p->merged;
	struct kept *kept =
		kept_get(table, target_id, reported && !p->config.show->format->wants_all);

	if (!kept)
		output_fail(p->output, -ENOMEM);
	return kept;
}

/* ---- --merge ------------------------------------------------------------------------------ */

static int pipeline_take_sum(void *ctx, struct snapshot *sum)
{
	struct pipeline *p = ctx;
	struct kept *kept = pipeline_keep(p, &p->programs, sum->target_id);
	int err = kept ? pipeline_report(p, kept, sum) : -ENOMEM;

	if (kept && kept->to_show)
		kept_replace(kept, sum);
	else
		snapshot_free(sum);
	return err;
}

int pipeline_round(struct pipeline *p, bool final)
{
	struct kept *kept, *next;
	int err;

	if (!p->merged || output_error(p->output))
		return output_error(p->output);
	err = merged_report(p->merged, final, pipeline_take_sum, p);
	HASH_ITER (hh, p->processes, kept, next)
		kept->in_sum = false;
	return err ? output_fail(p->output, err) : 0;
}

static int pipeline_merge(struct pipeline *p, struct kept *kept, struct snapshot *now)
{
	int err = kept->in_sum ? pipeline_round(p, false) : 0;

	if (err)
		return err;
	if (!now->exited && !now->execed) {
		kept->in_sum = true;
		err = merged_add(p->merged, now);
	} else {
		/* The source forgets its names. */
		err = pipeline_name_all(p, now);
		err = err ?: merged_add_ended(p->merged, now);
	}
	return err ? output_fail(p->output, err) : 0;
}

/*
 * As while tracing: what has ended counts in a report that is the last of all processes, and not
 * when the recorder was killed before it.
 */
static int pipeline_finish_round(struct pipeline *p)
{
	bool pending = false, living = false, final = false;
	struct kept *kept, *next;

	HASH_ITER (hh, p->processes, kept, next) {
		living |= !kept->ended;
		pending |= kept->in_sum;
		final |= kept->in_sum && kept->last->final;
	}
	if (pending)
		return pipeline_round(p, final);
	return living ? 0 : pipeline_round(p, true);
}

/* ---- taking snapshots --------------------------------------------------------------------- */

int pipeline_take(struct pipeline *p, struct snapshot *now)
{
	struct kept *kept =
		output_error(p->output) ? NULL : pipeline_keep(p, &p->processes, now->target_id);
	int err;

	if (!kept || kept->ended) {
		snapshot_free(now);
		return output_error(p->output);
	}
	rank_delta(now, kept->last);
	rank_total(now);
	if (p->merged) {
		err = pipeline_merge(p, kept, now);
		/* The outcome is about the processes themselves. */
		if (p->config.outcome && now->final)
			pipeline_suppress_stacks(p, now);
	} else {
		err = pipeline_report(p, kept, now);
	}
	if (p->config.outcome && now->final)
		outcome_add(&p->outcome, now, p->config.verdict);
	kept->ended = now->exited || now->execed;
	kept_replace(kept, now);
	if (kept->ended && !kept->to_show)
		kept_replace(kept, NULL);
	return err;
}

static int pipeline_show_kept(struct pipeline *p, struct kept *table)
{
	struct kept *kept, *next;

	HASH_ITER (hh, table, kept, next) {
		if (output_error(p->output))
			break;
		if (!kept->to_show)
			continue;
		pipeline_suppress_stacks(p, kept->last);
		pipeline_suppress_bad_frees(p, kept->last);
		pipeline_print(p, kept, kept->last);
		kept->to_show = false;
	}
	return output_error(p->output);
}

int pipeline_finish(struct pipeline *p)
{
	if (p->merged && !output_error(p->output))
		pipeline_finish_round(p);
	pipeline_show_kept(p, p->processes);
	return pipeline_show_kept(p, p->programs);
}

bool pipeline_has_last(const struct pipeline *p, uint32_t target_id)
{
	const struct kept *kept = kept_find(p->processes, target_id);

	return kept && kept->ended;
}

void pipeline_forget(struct pipeline *p, uint32_t target_id)
{
	struct kept *kept = kept_find(p->processes, target_id);

	if (kept)
		kept_forget(&p->processes, kept);
}

int pipeline_error(const struct pipeline *p)
{
	return output_error(p->output);
}

uint64_t pipeline_shown(const struct pipeline *p)
{
	return p->shown;
}

const struct outcome *pipeline_outcome(const struct pipeline *p)
{
	return &p->outcome;
}

struct output *pipeline_output(struct pipeline *p)
{
	return p->output;
}
