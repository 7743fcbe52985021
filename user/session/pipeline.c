// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/pipeline.h"

#include <errno.h>
#include <stdlib.h>

#include "user/analysis/findings.h"
#include "user/analysis/rank.h"
#include "user/analysis/rows.h"
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
	uint64_t shown_first_ns, shown_last_ns; /* when they were taken */
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
				  config->live, config->secret, &p->output);
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
	/* A document may be written only now, with names that belong to `merged`. */
	err = output_close(p->output);
	merged_free(p->merged);
	kept_free(&p->processes);
	kept_free(&p->programs);
	suppress_close(p->suppressions);
	free(p);
	return err;
}

/* ---- names -------------------------------------------------------------------------------- */

static int pipeline_name(struct pipeline *p, struct report *r, const struct stack *stack)
{
	struct stack_notes *notes = report_notes_to_fill(r, stack);
	uint32_t target_id = r->snapshot->target_id;

	if (!p->source->ops->name_stack || notes->frames)
		return 0;
	/* A sum's stacks are of several processes; ended ones have left their frames. */
	if (r->snapshot->processes && !merged_member(p->merged, stack, &target_id))
		return 0;
	return p->source->ops->name_stack(p->source, target_id, stack->id, &notes->frames,
					  &notes->frame_count);
}

static int pipeline_name_all(struct pipeline *p, struct report *r)
{
	int err = 0;

	/* A recording's stacks have come with their names. */
	if (!p->source->ops->name_stack)
		return 0;
	for (size_t i = 0; !err && i < r->snapshot->stack_count; i++)
		err = pipeline_name(p, r, &r->snapshot->stacks[i]);
	return err;
}

/* Patterns go by names, so stacks that one could match must have theirs. */
static int pipeline_name_concerned(struct pipeline *p, struct report *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->snapshot->stack_count; i++) {
		const struct stack *stack = &r->snapshot->stacks[i];

		if (suppressions_concern(p->suppressions, r->snapshot, stack))
			err = pipeline_name(p, r, stack);
	}
	return err;
}

static int pipeline_name_calls(struct pipeline *p, const struct report *r,
			       struct reported_call *calls, size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		struct reported_call *call = &calls[i];

		if (call->known && !call->frames)
			err = p->source->ops->name_stack(p->source, r->snapshot->target_id,
							 call->stack_id, &call->frames,
							 &call->frame_count);
	}
	return err;
}

static int pipeline_name_misuses(struct pipeline *p, struct report *r)
{
	int err = 0;

	/* A recording's come with their names; a sum's were named before. */
	if (!p->source->ops->name_stack || r->snapshot->processes)
		return 0;
	for (int finder = 0; finder < MISUSE_FINDERS; finder++) {
		const struct misuse_list *list = &r->misuses[finder];

		for (size_t i = 0; !err && i < list->count; i++)
			err = pipeline_name_calls(p, r, list->items[i].calls, MISUSE_CALLS);
	}
	return err;
}

/* ---- stages ------------------------------------------------------------------------------- */

/* Without names nothing is suppressed. */
static void pipeline_suppress_stacks(struct pipeline *p, struct report *r)
{
	const struct filter_config *filter = p->config.filter;
	int err = 0;

	if (suppress_wanted(filter, p->config.outcome, p->suppressions, r->snapshot))
		err = pipeline_name_concerned(p, r);
	err = err ?: suppress_stacks(filter, p->config.outcome, p->suppressions, r);
	if (err)
		log_errno(err, "suppressions are not applied");
}

static void pipeline_suppress_misuses(struct pipeline *p, struct report *r)
{
	int err = pipeline_name_misuses(p, r);

	if (err)
		log_errno(err, "suppressions are not applied");
	else
		suppress_all_misuses(p->suppressions, r);
}

static void pipeline_note_time(struct pipeline *p, uint64_t time_ns)
{
	if (!p->shown_first_ns || time_ns < p->shown_first_ns)
		p->shown_first_ns = time_ns;
	if (time_ns > p->shown_last_ns)
		p->shown_last_ns = time_ns;
}

static size_t pipeline_rank_report(struct kept *kept, struct report *r, enum rank_by sort,
				   const struct stack **top, size_t room, size_t *all)
{
	if (sort == RANK_GROWTH)
		stack_trends_judge_all(kept->trends, r);
	return rank_top_of(r, sort, top, room, all);
}

static int pipeline_describe_stack(struct pipeline *p, struct kept *kept, struct report *r,
				   const struct stack *stack)
{
	stack_trends_judge(kept->trends, r, stack);
	return pipeline_name(p, r, stack);
}

static int pipeline_join(struct pipeline *p, struct kept *kept, struct report *r, enum site_by by,
			 bool unnamed)
{
	const struct site_rules sites = show_sites(p->config.show);

	if (kept->trends)
		stack_trends_judge_all(kept->trends, r);
	return rows_make(r, by, &sites, unnamed, by == p->config.show->by ? &kept->rows : NULL);
}

/* Rows have the sums of all their stacks, so all of these have to have their names. */
static int pipeline_make_rows(struct pipeline *p, struct kept *kept, struct report *r)
{
	const struct show_config *show = p->config.show;
	int err = show->by == BY_SCOPE || r->rows ? 0 : pipeline_name_all(p, r);

	/* What was found out went by the same ones. */
	if (r->rows)
		return 0;
	return err ?: pipeline_join(p, kept, r, show->by, false);
}

static bool pipeline_has_rows(const struct pipeline *p, const struct report *r)
{
	const struct show_config *show = p->config.show;

	/* Whole stacks stand below their scopes. */
	return show->format->rows && show->by != BY_STACK && !r->snapshot->inspected &&
	       (show->brief || !r->snapshot->scoped || show->by != BY_LINE);
}

/* Of a row the names of its largest stack are needed, which are those of all in rows of scopes. */
static int pipeline_describe_row(struct pipeline *p, struct kept *kept, struct report *r,
				 const struct stack *row)
{
	struct stack_notes *notes = report_notes_to_fill(r->rows->sums, row);
	const size_t *members;
	size_t count = report_row_stacks(r->rows, row, &members);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = pipeline_describe_stack(p, kept, r, &r->snapshot->stacks[members[i]]);
	notes->frames = r->notes[*members].frames;
	notes->frame_count = r->notes[*members].frame_count;
	return err;
}

/* Of what became another program there is a line only, and kinds of blocks are no lines of a program. */
static bool pipeline_has_findings(const struct pipeline *p, const struct report *r)
{
	const struct snapshot *s = r->snapshot;

	return p->config.show->format->says && (s->final || p->config.last_only) && !s->execed &&
	       !s->inspected && !s->window && !s->surveyed;
}

/* The sentences of a last report are about lines of the program, whatever its rows are. */
static int pipeline_find(struct pipeline *p, struct kept *kept, struct report *r)
{
	const struct site_rules sites = show_sites(p->config.show);
	int err;

	if (!pipeline_has_findings(p, r))
		return 0;
	err = pipeline_name_all(p, r);
	err = err ?: pipeline_join(p, kept, r, BY_LINE, false);
	err = err ?: findings_of_report(r, p->config.older_ns != 0, &sites);
	if (pipeline_has_rows(p, r) && p->config.show->by == BY_LINE)
		return err;
	report_rows_free(r->rows);
	r->rows = NULL;
	return err;
}

/* Ranks, names and prints: a report of which is known what is suppressed. */
static int pipeline_print(struct pipeline *p, struct kept *kept, struct report *r)
{
	const struct show_config *show = p->config.show;
	size_t count = r->snapshot->stack_count, n = 0, all;
	size_t room = show->top < count ? show->top : count;
	_cleanup_free_ const struct stack **top = calloc(room + 1, sizeof(struct stack *));
	int err = top ? pipeline_find(p, kept, r) : -ENOMEM;

	p->shown++;
	pipeline_note_time(p, r->snapshot->time_ns);
	if (!err && show->format->wants_all) {
		err = pipeline_name_all(p, r);
	} else if (!err && pipeline_has_rows(p, r)) {
		err = pipeline_make_rows(p, kept, r);
		if (!err)
			n = rank_top_of(r->rows->sums, show->sort, top, room, &all);
	} else if (!err) {
		n = pipeline_rank_report(kept, r, show->sort, top, room, &all);
	}
	for (size_t i = 0; !err && i < n; i++)
		err = r->rows ? pipeline_describe_row(p, kept, r, top[i])
			      : pipeline_describe_stack(p, kept, r, top[i]);
	return err ? output_fail(p->output, err) : output_report(p->output, r, top, n);
}

/* Reports a process, or the sum of a program's processes. */
static int pipeline_report(struct pipeline *p, struct kept *kept, struct report *r)
{
	/* A trend also knows snapshots before the shown range. */
	if (kept->trends && stack_trends_update(kept->trends, r))
		log_debug("no memory for the trends of all stacks");
	if (p->source->ops->shows && !p->source->ops->shows(p->source, r->snapshot->time_ns))
		return 0;
	kept->to_show = p->config.last_only;
	if (kept->to_show)
		return 0;
	pipeline_suppress_stacks(p, r);
	pipeline_suppress_misuses(p, r);
	return p->config.viewed ? 0 : pipeline_print(p, kept, r);
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

static int pipeline_take_sum(void *ctx, struct report *sum)
{
	struct pipeline *p = ctx;
	struct kept *kept = pipeline_keep(p, &p->programs, sum->snapshot->target_id);
	int err = kept ? pipeline_report(p, kept, sum) : -ENOMEM;

	if (kept && kept->to_show)
		kept_replace(kept, sum);
	else
		report_free(sum);
	return err;
}

int pipeline_round(struct pipeline *p, bool final)
{
	struct kept *kept, *next;
	int err = final ? output_begin(p->output) : output_error(p->output);

	if (!p->merged || err)
		return err;
	err = merged_report(p->merged, final, pipeline_take_sum, p);
	HASH_ITER (hh, p->processes, kept, next)
		kept->in_sum = false;
	return err ? output_fail(p->output, err) : 0;
}

static int pipeline_merge(struct pipeline *p, struct kept *kept, struct report *now)
{
	int err = kept->in_sum ? pipeline_round(p, false) : 0;

	/* Of a sum nobody knows whose they are. */
	err = err ?: pipeline_name_misuses(p, now);
	if (err)
		return output_fail(p->output, err);
	if (!now->snapshot->exited && !now->snapshot->execed) {
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
 * As while tracing: ended processes count in the last report of all processes. They do not count if
 * the recorder was killed before that.
 */
static int pipeline_finish_round(struct pipeline *p)
{
	bool pending = false, living = false, final = false;
	struct kept *kept, *next;

	HASH_ITER (hh, p->processes, kept, next) {
		living |= !kept->ended;
		pending |= kept->in_sum;
		final |= kept->in_sum && kept->last->snapshot->final;
	}
	if (pending)
		return pipeline_round(p, final);
	return living ? 0 : pipeline_round(p, true);
}

/* ---- taking snapshots --------------------------------------------------------------------- */

/* If only the last of many is shown, only its differences and notes are needed. */
static bool pipeline_compares_later(const struct pipeline *p)
{
	return p->config.last_only && !p->merged;
}

/* A document of all stacks has one number for each, seldom a difference. */
static int pipeline_compare(const struct pipeline *p, struct report *now,
			    const struct report *before)
{
	if (p->config.show->format->wants_all && p->config.show->sort != RANK_GROWTH)
		return report_complete(now);
	return rank_delta(now, before ? before->snapshot : NULL);
}

static int pipeline_take_report(struct pipeline *p, struct kept *kept, struct report *now)
{
	bool final = now->snapshot->final;
	int err = pipeline_compares_later(p) ? 0 : pipeline_compare(p, now, kept->last);

	if (err) {
		report_free(now);
		return output_fail(p->output, err);
	}
	if (p->merged) {
		err = pipeline_merge(p, kept, now);
		/* The outcome is about the processes themselves. */
		if (p->config.outcome && final) {
			pipeline_suppress_stacks(p, now);
			pipeline_suppress_misuses(p, now);
		}
	} else {
		err = pipeline_report(p, kept, now);
	}
	if (p->config.outcome && final)
		outcome_add(&p->outcome, now, p->config.verdict);
	kept->ended = now->snapshot->exited || now->snapshot->execed;
	if (pipeline_compares_later(p))
		kept_push(kept, now);
	else
		kept_replace(kept, now);
	if (kept->ended && !kept->to_show && !p->config.viewed)
		kept_replace(kept, NULL);
	return err;
}

int pipeline_take(struct pipeline *p, struct snapshot *now)
{
	struct kept *kept =
		output_error(p->output) ? NULL : pipeline_keep(p, &p->processes, now->target_id);
	struct report *report;

	if (!kept || kept->ended) {
		snapshot_free(now);
		return output_error(p->output);
	}
	report = report_begin(now);
	return report ? pipeline_take_report(p, kept, report) : output_fail(p->output, -ENOMEM);
}

static int pipeline_show_kept(struct pipeline *p, struct kept *table)
{
	struct kept *kept, *next;

	HASH_ITER (hh, table, kept, next) {
		if (output_error(p->output))
			break;
		if (!kept->to_show)
			continue;
		if (table == p->processes && pipeline_compares_later(p) &&
		    pipeline_compare(p, kept->last, kept->before))
			return output_fail(p->output, -ENOMEM);
		pipeline_suppress_stacks(p, kept->last);
		pipeline_suppress_misuses(p, kept->last);
		pipeline_print(p, kept, kept->last);
		kept->to_show = false;
	}
	return output_error(p->output);
}

int pipeline_finish(struct pipeline *p)
{
	if (p->merged && !output_error(p->output))
		pipeline_finish_round(p);
	output_round(p->output, true);
	pipeline_show_kept(p, p->processes);
	pipeline_show_kept(p, p->programs);
	return output_round(p->output, false);
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

struct report *pipeline_last(struct pipeline *p, uint32_t target_id)
{
	const struct kept *kept = kept_find(p->processes, target_id);

	return kept ? kept->last : NULL;
}

size_t pipeline_rank(struct pipeline *p, uint32_t target_id, enum rank_by sort,
		     const struct stack **top, size_t room, size_t *all)
{
	struct kept *kept = kept_find(p->processes, target_id);

	*all = 0;
	return kept && kept->last ? pipeline_rank_report(kept, kept->last, sort, top, room, all)
				  : 0;
}

int pipeline_rows(struct pipeline *p, uint32_t target_id, bool unnamed)
{
	struct kept *kept = kept_find(p->processes, target_id);

	return kept && kept->last ? pipeline_join(p, kept, kept->last, p->config.show->by, unnamed)
				  : 0;
}

int pipeline_describe(struct pipeline *p, uint32_t target_id, const struct stack *stack)
{
	struct kept *kept = kept_find(p->processes, target_id);

	return kept && kept->last ? pipeline_describe_stack(p, kept, kept->last, stack) : 0;
}

int pipeline_describe_all(struct pipeline *p, uint32_t target_id)
{
	struct kept *kept = kept_find(p->processes, target_id);

	return kept && kept->last ? pipeline_name_all(p, kept->last) : 0;
}

struct suppressions *pipeline_suppressions(const struct pipeline *p)
{
	return p->suppressions;
}

int pipeline_error(const struct pipeline *p)
{
	return output_error(p->output);
}

void pipeline_shown_times(const struct pipeline *p, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = p->shown_first_ns;
	*last_ns = p->shown_last_ns;
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
