// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_reporter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/process/memory.h"
#include "user/keep/keep_ends.h"
#include "user/keep/keep_figures.h"

struct survey_reporter {
	const struct survey_config *config;
	struct site_rules sites; /* points into the config */
	struct history *history;
	const struct survey_scope *scope;
	const struct survey_driller *driller;
	struct survey_keeper *keeper; /* NULL: nothing is kept */
	const struct survey_reader *reader;
	uint64_t start_ns, start_cpu_ns; /* what loading took is over */
	uint64_t looks, exits_lost;
	uint64_t real_from_monotonic_ns; /* to be added, at the last look */
	bool matched;			 /* survey_reporter_matched() */
	bool told_stacks;		 /* that there are too many */
	struct survey_row *rows;	 /* those of the last report */
	size_t row_room;
};

struct survey_reporter *survey_reporter_new(const struct survey_config *config,
					    struct history *history,
					    const struct survey_scope *scope,
					    const struct survey_driller *driller,
					    struct survey_keeper *keeper,
					    const struct survey_reader *reader)
{
	struct survey_reporter *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct survey_reporter){
		.config = config,
		.sites = show_sites(&config->show),
		.history = history,
		.scope = scope,
		.driller = driller,
		.keeper = keeper,
		.reader = reader,
		.start_ns = monotonic_ns(),
		.start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	};
	return r;
}

void survey_reporter_free(struct survey_reporter *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r);
}

bool survey_reporter_matched(const struct survey_reporter *r)
{
	return r->matched;
}

uint64_t survey_reporter_looked(struct survey_reporter *r, const struct process_list *list)
{
	r->exits_lost = list->exits_lost;
	r->real_from_monotonic_ns = clock_ns(CLOCK_REALTIME) - monotonic_ns();
	return ++r->looks;
}

/* ---- rows --------------------------------------------------------------------------------- */

static const char *survey_reporter_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Only for what grows: nothing else has an end in sight. */
static void survey_reporter_fill_limit(struct survey_row *row, const struct history_process *p)
{
	if (row->trend.kind != TREND_GROWING || row->trend.growth <= 0 || row->ended ||
	    !isfinite(p->left))
		return;
	row->limit_known = true;
	row->limit_s = p->left / row->trend.growth;
	row->limit_bytes = process_bytes(&p->now) + (uint64_t)p->left;
}

/* All reports of a look say the same time. */
static void survey_reporter_fill_growth(const struct survey_reporter *r, struct survey_row *row,
					const struct history_process *p)
{
	static const enum survey_growth_state states[] = {
		[REGIME_KEPT] = GROWTH_KEPT,	   [REGIME_STEPS] = GROWTH_STEPS,
		[REGIME_FILLING] = GROWTH_FILLING, [REGIME_GROWING] = GROWTH_GOES_ON,
		[REGIME_LEAKING] = GROWTH_GOES_ON,
	};
	const struct regime_judgement *j = &p->growth;

	if (p->of_children || row->ended || !states[j->word])
		return;
	row->growth = (struct survey_growth){
		.state = states[j->word],
		.since_start = j->since_start,
		.level_before_ns = j->level_before_ns,
		.bytes = j->grown,
		.steps = j->steps,
		.pace = j->pace,
		.room_used = j->room_used,
		.levels_off_at = j->levels_off_at,
	};
	if (j->since_ns)
		row->growth.since_ns = j->since_ns + r->real_from_monotonic_ns;
	if (j->until_ns)
		row->growth.until_ns = j->until_ns + r->real_from_monotonic_ns;
}

static void survey_reporter_fill_place(struct survey_row *row, const struct survey_process *data)
{
	row->cgroup = survey_reporter_or_null(data->cgroup.path);
	row->unit = survey_reporter_or_null(data->cgroup.unit);
	row->container = survey_reporter_or_null(data->container.name);
	row->runtime = survey_reporter_or_null(data->cgroup.runtime);
	row->pod = survey_reporter_or_null(data->cgroup.pod);
	row->pod_name = survey_reporter_or_null(data->container.pod);
}

static void survey_reporter_fill_row(const struct survey_reporter *r, struct survey_row *row,
				     const struct history_process *p,
				     const struct survey_process *data)
{
	*row = (struct survey_row){
		.process = p->now,
		.trend = p->trend,
		.of_children = p->of_children,
		.ended = p->ended,
		.samples = p->samples,
		.children_exited = p->children_exited,
		.children_peak = p->children_peak,
		.low_then = p->low_then,
		.low_now = p->low_now,
		.drill = data->drilled || data->drill.open ? &data->drill : NULL,
		.kept = (data->kept_named && !p->ended) || data->kept_last ? &data->kept : NULL,
	};
	survey_reporter_fill_place(row, data);
	row->spark_count = history_values(p, row->spark, SURVEY_SPARK);
	survey_reporter_fill_limit(row, p);
	survey_reporter_fill_growth(r, row, p);
}

bool survey_report_has_row(struct survey_report *report, size_t top, size_t *living,
			   const struct process_sample *process)
{
	if ((*living)++ < top)
		return true;
	report->rest.count++;
	report->rest.anon += process->anon;
	report->rest.swap += process->swap;
	report->rest.shmem += process->shmem;
	return false;
}

/*
 * One that has exited has a last line, once, if it was shown before or there is something to say.
 */
static bool survey_reporter_has_last_line(const struct history_process *process,
					  struct survey_process *data,
					  enum survey_audience audience)
{
	bool bad = data->kept_last && guard_figures_bad(&data->kept.guards);

	if (audience == SURVEY_FOR_METRICS || data->told ||
	    (!data->shown && !data->drilled && !bad && process->trend.kind != TREND_GROWING))
		return false;
	data->told = audience == SURVEY_FOR_PEOPLE;
	return true;
}

static int survey_reporter_make_room(struct survey_reporter *r, size_t count)
{
	struct survey_row *grown;

	if (count <= r->row_room)
		return 0;
	grown = reallocarray(r->rows, count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->rows = grown;
	r->row_room = count;
	return 0;
}

static void survey_reporter_add_end(struct survey_reporter *r, struct survey_report *report,
				    const struct keep_end *end)
{
	struct survey_row *row = &r->rows[report->row_count++];

	*row = (struct survey_row){
		.process = end->sample,
		.trend.reason = end->replaced ? "it has become another program" : NULL,
		.ended = true,
		.kept = &end->data->kept,
	};
	survey_reporter_fill_place(row, end->data);
}

/* Before the row of the program that the process is now: who reads them takes this one's end for that of the last. */
static void survey_reporter_add_replaced(struct survey_reporter *r, const struct history_process *p,
					 enum survey_audience audience,
					 struct survey_report *report)
{
	struct keep_ends *ends = r->keeper ? survey_keeper_ends(r->keeper) : NULL;

	/* The eldest first. */
	for (struct keep_end *end = ends && ends->list ? ends->list->prev : NULL; end;
	     end = end == ends->list ? NULL : end->prev) {
		if (end->told || end->sample.pid != p->now.pid ||
		    end->sample.start_ticks != p->now.start_ticks)
			continue;
		survey_reporter_add_end(r, report, end);
		end->told = audience == SURVEY_FOR_PEOPLE;
	}
}

/* Whose series would be the same as those of a row that is there: the later ones go on. */
static bool survey_reporter_has_series(const struct survey_report *report,
				       const struct keep_end *end)
{
	for (size_t i = 0; i < report->row_count; i++) {
		const struct process_sample *p = &report->rows[i].process;

		if (p->pid == end->sample.pid &&
		    !strncmp(p->comm, end->sample.comm, sizeof(p->comm)))
			return true;
	}
	return false;
}

/* A scrape may come long after a look: series of those that have ended stay for a while, as many as others have. */
static void survey_reporter_add_ends(struct survey_reporter *r, size_t top,
				     struct survey_report *report)
{
	struct keep_ends *ends = r->keeper ? survey_keeper_ends(r->keeper) : NULL;

	for (struct keep_end *end = ends ? ends->list : NULL; end && top; end = end->next) {
		if (survey_reporter_has_series(report, end))
			continue;
		survey_reporter_add_end(r, report, end);
		top--;
	}
}

static int survey_reporter_fill_rows(struct survey_reporter *r, size_t top,
				     enum survey_audience audience, struct survey_report *report)
{
	struct history_process *const *ranked;
	size_t count, living = 0;

	ranked = history_ranked(r->history, &count);
	if (!ranked || survey_reporter_make_room(
			       r, count + (r->keeper ? survey_keeper_ends(r->keeper)->count : 0)))
		return -ENOMEM;
	report->rows = r->rows;
	for (size_t i = 0; i < count; i++) {
		struct survey_process *data = survey_process_of(ranked[i]);
		bool has_row;

		if (!data)
			return -ENOMEM;
		if (audience != SURVEY_FOR_METRICS)
			survey_reporter_add_replaced(r, ranked[i], audience, report);
		if (!survey_scope_has(r->scope, ranked[i], data))
			continue;
		r->matched = true;
		if (ranked[i]->ended) {
			has_row = survey_reporter_has_last_line(ranked[i], data, audience);
		} else {
			has_row = survey_report_has_row(report, top, &living, &ranked[i]->now);
			report->process_count++;
			report->growing_count += ranked[i]->trend.kind == TREND_GROWING;
			if (audience == SURVEY_FOR_PEOPLE)
				data->shown = has_row;
		}
		if (has_row)
			survey_reporter_fill_row(r, &r->rows[report->row_count++], ranked[i], data);
	}
	if (audience == SURVEY_FOR_METRICS)
		survey_reporter_add_ends(r, top, report);
	return 0;
}

/* ---- the report --------------------------------------------------------------------------- */

/* What has no room among the stacks has its bytes in a sum, for good: not only a counter says so. */
static void survey_reporter_add_kept(struct survey_reporter *r, struct survey_totals *totals)
{
	uint64_t before = totals->lost[LOST_STACKS_FULL];

	survey_keeper_add_lost(r->keeper, totals->lost);
	if (r->told_stacks || totals->lost[LOST_STACKS_FULL] == before)
		return;
	r->told_stacks = true;
	log_warn("the processes that are kept have more than %u different stacks (--max-stacks): "
		 "further ones are counted together, without their functions",
		 r->config->keep.stacks);
}

static void survey_reporter_fill_totals(struct survey_reporter *r, struct survey_totals *totals)
{
	uint64_t anon;

	survey_driller_totals(r->driller, totals);
	if (r->keeper)
		survey_reporter_add_kept(r, totals);
	totals->looks = r->looks;
	totals->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	totals->left_out = history_left_out(r->history);
	totals->exits_lost = r->exits_lost;
	/* What cannot be read is 0: unknown. */
	proc_memory(getpid(), &totals->resident, &anon);
}

int survey_reporter_make(struct survey_reporter *r, size_t top, enum survey_audience audience,
			 struct survey_report *report)
{
	const struct survey_probes_config *probes = &r->config->probes;
	uint64_t elapsed = monotonic_ns() - r->start_ns;

	*report = (struct survey_report){
		.time_ns = clock_ns(CLOCK_REALTIME),
		.elapsed_ns = elapsed,
		.source = survey_reader_source(r->reader) == SURVEY_BPF ? "bpf" : "proc",
		.missing = *survey_reader_missing(r->reader),
		.watched_count = survey_driller_watched(r->driller),
		.probe_share = survey_driller_share(r->driller),
		.budget_share = probes->wanted ? probes->budget / 1000.0 : 0,
		.sample_bytes = survey_driller_sample_bytes(r->driller),
		.tool_known = elapsed >= NS_PER_S,
		.keep = r->keeper ? survey_keeper_report(r->keeper) : NULL,
		.sites = &r->sites,
	};
	survey_reporter_fill_totals(r, &report->totals);
	if (report->tool_known)
		report->tool_share =
			(double)(report->totals.cpu_ns - r->start_cpu_ns) / (double)elapsed;
	return survey_reporter_fill_rows(r, top, audience, report);
}
