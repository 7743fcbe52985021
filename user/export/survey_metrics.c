// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/survey_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/metrics_guards.h"
#include "user/export/metrics_page.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"
#include "user/model/lost_causes.h"

/* ---- the two syntaxes --------------------------------------------------------------------- */

enum metrics_syntax metrics_choose_syntax(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text") ? METRICS_OPENMETRICS
									: METRICS_PROMETHEUS;
}

const char *metrics_content_type(enum metrics_syntax syntax)
{
	return syntax == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- of processes ------------------------------------------------------------------------- */

static bool value_anon(const struct survey_row *row, double *value)
{
	*value = (double)row->process.anon;
	return true;
}

static bool value_swap(const struct survey_row *row, double *value)
{
	*value = (double)row->process.swap;
	return true;
}

static bool value_shmem(const struct survey_row *row, double *value)
{
	*value = (double)row->process.shmem;
	return true;
}

static bool value_threads(const struct survey_row *row, double *value)
{
	*value = row->process.threads;
	return true;
}

static bool value_growth(const struct survey_row *row, double *value)
{
	*value = row->trend.growth;
	return row->trend.growth_known && row->trend.kind != TREND_TOO_EARLY;
}

static bool value_suspicion(const struct survey_row *row, double *value)
{
	*value = row->trend.kind != TREND_GROWING ? 0 : row->trend.leaking ? 2 : 1;
	return row->trend.kind != TREND_TOO_EARLY && row->trend.kind != TREND_UNKNOWN;
}

static bool value_limit(const struct survey_row *row, double *value)
{
	*value = row->limit_s;
	return row->limit_known;
}

static bool value_since(const struct survey_row *row, double *value)
{
	*value = (double)row->growth.since_ns / NS_PER_S;
	return row->growth.state >= GROWTH_FILLING && row->growth.since_ns;
}

static bool value_room(const struct survey_row *row, double *value)
{
	*value = row->growth.room_used;
	return row->growth.state >= GROWTH_FILLING && row->growth.room_used > 0;
}

static bool value_levels_off(const struct survey_row *row, double *value)
{
	*value = row->growth.levels_off_at;
	return row->growth.levels_off_at > 0;
}

static bool value_children(const struct survey_row *row, double *value)
{
	*value = (double)row->children_exited;
	return true;
}

static bool value_children_peak(const struct survey_row *row, double *value)
{
	*value = (double)row->children_peak;
	return row->children_peak != 0;
}

static bool value_live(const struct survey_row *row, double *value)
{
	if (!row->drill || !row->drill->snapshot)
		return false;
	*value = (double)row->drill->snapshot->live.bytes;
	return true;
}

static bool value_kept(const struct survey_row *row, double *value)
{
	*value = row->kept && row->kept->sampled;
	return row->kept != NULL;
}

static bool value_kept_live(const struct survey_row *row, double *value)
{
	if (!row->kept || !row->kept->sampled)
		return false;
	*value = (double)row->kept->live_bytes;
	return true;
}

static const struct metrics_process_family process_families[] = {
	{"process_anon_bytes", TYPE_GAUGE, "bytes", "Resident anonymous memory.", value_anon},
	{"process_swap_bytes", TYPE_GAUGE, "bytes", "Memory swapped out.", value_swap},
	{"process_shmem_bytes", TYPE_GAUGE, "bytes", "Resident shared memory.", value_shmem},
	{"process_threads", TYPE_GAUGE, NULL, "Threads.", value_threads},
	{"process_growth_bytes_per_second", TYPE_GAUGE, "bytes_per_second",
	 "Growth of anonymous memory and swap, since it began; 0: it does not grow.", value_growth},
	{"process_suspicion", TYPE_GAUGE, NULL,
	 "2: leaking, 1: growing, 0: neither; absent while it is too early to say.",
	 value_suspicion},
	{"process_memory_limit_seconds", TYPE_GAUGE, "seconds",
	 "Time until the memory of its control group or of the machine is used up, if growth "
	 "goes on.",
	 value_limit},
	{"process_growing_since_timestamp_seconds", TYPE_GAUGE, "seconds",
	 "When the growth began, since the epoch; absent while it does not grow.", value_since},
	{"process_room_used_ratio", TYPE_GAUGE, "ratio",
	 "The part that growth has used of what was left when it began.", value_room},
	{"process_levels_off_bytes", TYPE_GAUGE, "bytes",
	 "Where growth that gets ever slower would end; absent where it does not.",
	 value_levels_off},
	{"process_children_exited", TYPE_COUNTER, NULL,
	 "Its children and theirs that have exited, short-lived ones included.", value_children},
	{"process_children_peak_bytes", TYPE_GAUGE, "bytes",
	 "The largest resident set that one of them had.", value_children_peak},
	{"process_live_bytes", TYPE_GAUGE, "bytes",
	 "Allocated and kept while probes were on it, the last time; an estimate.", value_live},
};

/* With --keep. */
static const struct metrics_process_family kept_families[] = {
	{"process_kept", TYPE_GAUGE, NULL,
	 "1: it is sampled all the time; 0: --keep names it, and it cannot be.", value_kept},
	{"process_kept_live_bytes", TYPE_GAUGE, "bytes",
	 "Allocated since it is sampled, and not freed; an estimate.", value_kept_live},
};

/* The stack that holds most, by its function: what an alert should name. */
static void put_top_stacks(const struct metrics_page *p)
{
	static const char name[] = "process_top_stack_live_bytes";

	metrics_put_family(
		p, name, TYPE_GAUGE, "bytes",
		"The part of process_live_bytes of the stack that holds most, with the function "
		"that allocated, as in the survey's text.");
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];
		const struct stack_notes *notes;
		size_t frame;

		if (!metrics_is_shown(row) || !row->drill || !row->drill->snapshot ||
		    !row->drill->shown_count)
			continue;
		notes = report_notes(row->drill->report, row->drill->shown[0]);
		frame = frames_site(notes->frames, notes->frame_count, p->report->sites);
		if (!frame || !notes->frames[frame]->function)
			continue;
		fprintf(p->out, "memleakbpf_%s{", name);
		metrics_put_process_labels(p->out, row);
		metrics_put_label(p->out, false, "function", notes->frames[frame]->function);
		fputc('}', p->out);
		metrics_put_value(p->out, (double)row->drill->shown[0]->live.bytes);
	}
}

/* ---- of scopes ---------------------------------------------------------------------------- */

/* Of a process, those first that keep most: tags may be many. */
#define SCOPES_MAX 20

static double value_scope_calls(const struct scope *scope)
{
	return (double)scope->calls;
}

static double value_scope_kept(const struct scope *scope)
{
	return (double)scope->kept.bytes;
}

static double value_scope_live(const struct scope *scope)
{
	return (double)scope->live.bytes;
}

/* Of a window of probes, and of the next one anew: no counters. */
static const struct scope_family {
	const char *name, *unit, *help;
	double (*value)(const struct scope *scope);
} scope_families[] = {
	{"scope_calls", NULL,
	 "Calls of the function (--scope) while probes were on it, the last time.",
	 value_scope_calls},
	{"scope_kept_bytes", "bytes",
	 "What these calls had allocated and not freed when they returned.", value_scope_kept},
	{"scope_live_bytes", "bytes", "What of that was live at the end.", value_scope_live},
};

static void metrics_put_scope_row(const struct metrics_page *p, const struct scope_family *family,
				  const struct survey_row *row)
{
	const struct snapshot *s = row->drill->snapshot;
	_cleanup_free_ const struct scope **ranked = scopes_ranked(s);

	for (size_t i = 0; ranked && i < s->scopes.count && i < SCOPES_MAX; i++) {
		fprintf(p->out, "memleakbpf_%s{", family->name);
		metrics_put_process_labels(p->out, row);
		metrics_put_label(p->out, false, "function", ranked[i]->function);
		if (ranked[i]->tag)
			metrics_put_label(p->out, false, "tag", ranked[i]->tag);
		fputc('}', p->out);
		metrics_put_value(p->out, family->value(ranked[i]));
	}
}

static bool metrics_has_scopes(const struct survey_row *row)
{
	return metrics_is_shown(row) && row->drill && row->drill->snapshot &&
	       row->drill->snapshot->scoped;
}

static void metrics_put_scopes(const struct metrics_page *p)
{
	bool any = false;

	for (size_t i = 0; i < p->report->row_count; i++)
		any |= metrics_has_scopes(&p->report->rows[i]);
	for (size_t f = 0; any && f < ARRAY_SIZE(scope_families); f++) {
		metrics_put_family(p, scope_families[f].name, TYPE_GAUGE, scope_families[f].unit,
				   scope_families[f].help);
		for (size_t i = 0; i < p->report->row_count; i++) {
			if (metrics_has_scopes(&p->report->rows[i]))
				metrics_put_scope_row(p, &scope_families[f], &p->report->rows[i]);
		}
	}
}

/* ---- of the machine and of the tool ------------------------------------------------------- */

static void metrics_put_losses(const struct metrics_page *p)
{
	metrics_put_family(p, "lost_records", TYPE_COUNTER, NULL,
			   "What the probes could not record, by cause.");
	for (int i = 0; i < LOST_CAUSES; i++) {
		fputs("memleakbpf_lost_records_total{", p->out);
		metrics_put_label(p->out, true, "cause", lost_cause_name((enum lost_cause)i));
		fputc('}', p->out);
		metrics_put_value(p->out, (double)p->report->totals.lost[i]);
	}
}

static void metrics_put_totals(const struct metrics_page *p)
{
	const struct survey_report *r = p->report;
	const struct survey_totals *t = &r->totals;
	const struct metrics_row rows[] = {
		{"processes", TYPE_GAUGE, NULL, "Processes that are followed.",
		 (double)r->process_count},
		{"growing_processes", TYPE_GAUGE, NULL, "Those that are growing or leaking.",
		 (double)r->growing_count},
		{"probed_processes", TYPE_GAUGE, NULL, "Those with probes on them now.",
		 (double)r->watched_count},
		{"left_out_processes", TYPE_GAUGE, NULL, "Not followed for want of room.",
		 (double)t->left_out},
		{"exits_left_out", TYPE_COUNTER, NULL,
		 "Parents whose children's exits could not be counted.", (double)t->exits_lost},
		{"other_processes", TYPE_GAUGE, NULL,
		 "Followed, without series of their own: the next three are their sums.",
		 (double)r->rest.count},
		{"other_processes_anon_bytes", TYPE_GAUGE, "bytes", "Resident anonymous memory.",
		 (double)r->rest.anon},
		{"other_processes_swap_bytes", TYPE_GAUGE, "bytes", "Memory swapped out.",
		 (double)r->rest.swap},
		{"other_processes_shmem_bytes", TYPE_GAUGE, "bytes", "Resident shared memory.",
		 (double)r->rest.shmem},
		{"looks", TYPE_COUNTER, NULL, "Looks at all processes.", (double)t->looks},
		{"last_look_timestamp_seconds", TYPE_GAUGE, "seconds",
		 "When the last look was taken, since the epoch.", (double)r->time_ns / NS_PER_S},
		{"cpu_seconds", TYPE_COUNTER, "seconds", "CPU time of memleakbpf itself.",
		 (double)t->cpu_ns / NS_PER_S},
		{"probe_cpu_seconds", TYPE_COUNTER, "seconds",
		 "CPU time that its probes took in other processes, with an estimate for the "
		 "traps.",
		 (double)t->probe_ns / NS_PER_S},
		{"probe_hits", TYPE_COUNTER, NULL, "Runs of its probes.", (double)t->probe_hits},
		{"probe_budget_ratio", TYPE_GAUGE, "ratio",
		 "Share of a CPU that the probes may take.", r->budget_share},
		{"sample_interval_bytes", TYPE_GAUGE, "bytes",
		 "Allocated bytes per sample of the probes.", (double)r->sample_bytes},
	};

	metrics_put_rows(p, rows, ARRAY_SIZE(rows));
	if (t->resident) {
		metrics_put_family(p, "resident_memory_bytes", TYPE_GAUGE, "bytes",
				   "Resident memory of memleakbpf itself.");
		metrics_put_sample(p, "resident_memory_bytes", TYPE_GAUGE, (double)t->resident);
	}
}

static void metrics_put_keep(const struct metrics_page *p)
{
	const struct survey_keep_report *k = p->report->keep;
	const struct metrics_row rows[] = {
		{"kept_processes", TYPE_GAUGE, NULL, "Sampled all the time.", (double)k->sampled},
		{"kept_left_out_processes", TYPE_GAUGE, NULL,
		 "Named by --keep, and not sampled: there is no room, or they cannot be.",
		 (double)k->left_out},
		{"kept_samples", TYPE_COUNTER, NULL, "Samples of these processes.",
		 (double)k->samples},
		{"kept_live_samples", TYPE_GAUGE, NULL, "Those whose blocks are live.",
		 (double)k->live_samples},
		{"kept_sample_interval_bytes", TYPE_GAUGE, "bytes",
		 "Allocated bytes per sample now; coarser where there would be too many.",
		 (double)k->sample_bytes},
	};

	metrics_put_rows(p, rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(kept_families); i++)
		metrics_put_process_family(p, &kept_families[i], false);
	metrics_put_guards(p);
}

static void put_build(const struct metrics_page *p)
{
	metrics_put_family(p, "build", TYPE_INFO, NULL,
			   "Which memleakbpf this is, and what it reads.");
	fputs("memleakbpf_build_info{", p->out);
	metrics_put_label(p->out, true, "version", MEMLEAKBPF_VERSION);
	metrics_put_label(p->out, false, "source", p->report->source);
	fputs("} 1\n", p->out);
}

static void metrics_put_missing(const struct metrics_page *p)
{
	const struct missing_parts *missing = &p->report->missing;

	if (!missing->count)
		return;
	metrics_put_family(p, "missing", TYPE_GAUGE, NULL,
			   "What the kernel has refused, and is done without.");
	for (size_t i = 0; i < missing->count; i++) {
		fputs("memleakbpf_missing{", p->out);
		metrics_put_label(p->out, true, "what", missing->parts[i].what);
		fputs("} 1\n", p->out);
	}
}

int survey_format_metrics(const struct survey_report *report, enum metrics_syntax syntax,
			  char **text, size_t *size)
{
	struct metrics_page page = {.syntax = syntax, .report = report};

	*text = NULL;
	*size = 0;
	page.out = open_memstream(text, size);
	if (!page.out)
		return -ENOMEM;
	put_build(&page);
	metrics_put_missing(&page);
	metrics_put_totals(&page);
	metrics_put_losses(&page);
	if (report->keep)
		metrics_put_keep(&page);
	for (size_t i = 0; i < ARRAY_SIZE(process_families); i++)
		metrics_put_process_family(&page, &process_families[i], false);
	put_top_stacks(&page);
	metrics_put_scopes(&page);
	if (syntax == METRICS_OPENMETRICS)
		fputs("# EOF\n", page.out);
	if (close_memstream(page.out)) {
		free(*text);
		*text = NULL;
		return -ENOMEM;
	}
	return 0;
}
