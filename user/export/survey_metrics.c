// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/survey_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"

struct page {
	FILE *out;
	enum metrics_syntax syntax;
	const struct survey_report *report;
};

enum metric_type {
	TYPE_GAUGE,
	TYPE_COUNTER,
	TYPE_INFO,
};

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

/* What samples of a type have behind the family's name. */
static const char *suffix_of(enum metric_type type)
{
	static const char *const suffixes[] = {
		[TYPE_GAUGE] = "", [TYPE_COUNTER] = "_total", [TYPE_INFO] = "_info"};

	return suffixes[type];
}

/* The older format knows samples, not families, and no info. The unit is the end of the name. */
static void put_family(const struct page *p, const char *name, enum metric_type type,
		       const char *unit, const char *help)
{
	static const char *const types[] = {
		[TYPE_GAUGE] = "gauge", [TYPE_COUNTER] = "counter", [TYPE_INFO] = "info"};

	if (p->syntax == METRICS_PROMETHEUS) {
		fprintf(p->out, "# HELP memleakbpf_%s%s %s\n", name, suffix_of(type), help);
		fprintf(p->out, "# TYPE memleakbpf_%s%s %s\n", name, suffix_of(type),
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
static void metrics_put_label(FILE *out, bool first, const char *name, const char *value)
{
	static const char *const escapes[] = {"\\\\", "\\\"", "\\n"};
	static const struct text_rules rules = {
		.special = "\\\"\n",
		.instead = escapes,
		.harms = TEXT_C0 | TEXT_C1,
		.harmful = "?",
		.invalid = "\xef\xbf\xbd", /* U+FFFD */
	};

	fprintf(out, "%s%s=\"", first ? "" : ",", name);
	text_put(out, value, &rules);
	fputc('"', out);
}

/* Whole numbers in full: bytes are compared. */
static void put_value(FILE *out, double value)
{
	if (value == floor(value) && fabs(value) < 0x1p53)
		fprintf(out, " %.0f\n", value);
	else
		fprintf(out, " %.15g\n", value);
}

static void metrics_put_sample(const struct page *p, const char *name, enum metric_type type,
			       double value)
{
	fprintf(p->out, "memleakbpf_%s%s", name, suffix_of(type));
	put_value(p->out, value);
}

/* ---- of processes ------------------------------------------------------------------------- */

/* One that has ended has no value any more: its series end. */
static bool is_shown(const struct survey_row *row)
{
	return !row->ended;
}

static void put_process_labels(FILE *out, const struct survey_row *row)
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

/* False: not known, and then there is no sample. */
typedef bool process_value(const struct survey_row *row, double *value);

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

static const struct guard_state *guard_of(const struct survey_row *row)
{
	const struct guard_state *g = row->kept ? &row->kept->guards.state : NULL;

	return g && g->asked ? g : NULL;
}

static bool value_guarded(const struct survey_row *row, double *value)
{
	const struct guard_state *g = guard_of(row);

	*value = g ? (double)g->guarded : 0;
	return g != NULL;
}

static bool value_guards_on(const struct survey_row *row, double *value)
{
	const struct guard_state *g = guard_of(row);

	*value = g && g->on;
	return g != NULL;
}

static bool value_guard_places(const struct survey_row *row, double *value)
{
	const struct guard_state *g = guard_of(row);

	if (!g || !g->places)
		return false;
	*value = (double)g->in_use / (double)g->places;
	return true;
}

static bool value_guard_age(const struct survey_row *row, double *value)
{
	const struct guard_state *g = guard_of(row);

	if (!g || !g->oldest_free_ms)
		return false;
	*value = (double)g->oldest_free_ms / 1000;
	return true;
}

static const struct process_family {
	const char *name;
	enum metric_type type;
	const char *unit, *help;
	process_value *value;
} process_families[] = {
	{"process_anon_bytes", TYPE_GAUGE, "bytes", "Resident anonymous memory.", value_anon},
	{"process_swap_bytes", TYPE_GAUGE, "bytes", "Memory swapped out.", value_swap},
	{"process_shmem_bytes", TYPE_GAUGE, "bytes", "Resident shared memory.", value_shmem},
	{"process_threads", TYPE_GAUGE, NULL, "Threads.", value_threads},
	{"process_growth_bytes_per_second", TYPE_GAUGE, "bytes_per_second",
	 "Growth of anonymous memory and swap over the watch.", value_growth},
	{"process_suspicion", TYPE_GAUGE, NULL,
	 "2: leaking, 1: suspect, 0: neither; absent while it is too early to say.",
	 value_suspicion},
	{"process_memory_limit_seconds", TYPE_GAUGE, "seconds",
	 "Time until the memory of its control group or of the machine is used up, if growth "
	 "goes on.",
	 value_limit},
	{"process_children_exited", TYPE_COUNTER, NULL,
	 "Its children and theirs that have exited, short-lived ones included.", value_children},
	{"process_children_peak_bytes", TYPE_GAUGE, "bytes",
	 "The largest resident set that one of them had.", value_children_peak},
	{"process_live_bytes", TYPE_GAUGE, "bytes",
	 "Allocated and kept while probes were on it, the last time; an estimate.", value_live},
};

/* With --keep. */
static const struct process_family kept_families[] = {
	{"process_kept", TYPE_GAUGE, NULL,
	 "1: it is sampled all the time; 0: --keep names it, and it cannot be.", value_kept},
	{"process_kept_live_bytes", TYPE_GAUGE, "bytes",
	 "Allocated since it is sampled, and not freed; an estimate.", value_kept_live},
};

/* With --keep and --guard. */
static const struct process_family guard_families[] = {
	{"process_guards", TYPE_GAUGE, NULL,
	 "1: blocks of it are being guarded; 0: it cannot have guards, or not any more.",
	 value_guards_on},
	{"process_guarded_blocks", TYPE_COUNTER, NULL, "Blocks that were guarded.", value_guarded},
	{"process_guard_places_ratio", TYPE_GAUGE, "ratio",
	 "The share of its guarded places that live blocks have.", value_guard_places},
	{"process_guard_quarantine_seconds", TYPE_GAUGE, "seconds",
	 "How long ago the block was freed that has been guarded longest since its free.",
	 value_guard_age},
};

static void put_process_family(const struct page *p, const struct process_family *family)
{
	put_family(p, family->name, family->type, family->unit, family->help);
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];
		double value;

		if (!is_shown(row) || !family->value(row, &value) || !isfinite(value))
			continue;
		fprintf(p->out, "memleakbpf_%s%s{", family->name, suffix_of(family->type));
		put_process_labels(p->out, row);
		fputc('}', p->out);
		put_value(p->out, value);
	}
}

/* The stack that holds most, by its function: what an alert should name. */
static void put_top_stacks(const struct page *p)
{
	static const char name[] = "process_top_stack_live_bytes";

	put_family(p, name, TYPE_GAUGE, "bytes",
		   "The part of process_live_bytes of the stack that holds most, with the function "
		   "that allocated, as in the survey's text.");
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];
		const struct stack_notes *notes;
		size_t frame;

		if (!is_shown(row) || !row->drill || !row->drill->snapshot ||
		    !row->drill->shown_count)
			continue;
		notes = report_notes(row->drill->report, row->drill->shown[0]);
		frame = frames_site(notes->frames, notes->frame_count);
		if (!frame)
			continue;
		fprintf(p->out, "memleakbpf_%s{", name);
		put_process_labels(p->out, row);
		metrics_put_label(p->out, false, "function", notes->frames[frame]->function);
		fputc('}', p->out);
		put_value(p->out, (double)row->drill->shown[0]->live.bytes);
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

static void metrics_put_scope_row(const struct page *p, const struct scope_family *family,
				  const struct survey_row *row)
{
	const struct snapshot *s = row->drill->snapshot;
	_cleanup_free_ const struct scope **ranked = scopes_ranked(s);

	for (size_t i = 0; ranked && i < s->scopes.count && i < SCOPES_MAX; i++) {
		fprintf(p->out, "memleakbpf_%s{", family->name);
		put_process_labels(p->out, row);
		metrics_put_label(p->out, false, "function", ranked[i]->function);
		if (ranked[i]->tag)
			metrics_put_label(p->out, false, "tag", ranked[i]->tag);
		fputc('}', p->out);
		put_value(p->out, family->value(ranked[i]));
	}
}

static bool metrics_has_scopes(const struct survey_row *row)
{
	return is_shown(row) && row->drill && row->drill->snapshot && row->drill->snapshot->scoped;
}

static void metrics_put_scopes(const struct page *p)
{
	bool any = false;

	for (size_t i = 0; i < p->report->row_count; i++)
		any |= metrics_has_scopes(&p->report->rows[i]);
	for (size_t f = 0; any && f < ARRAY_SIZE(scope_families); f++) {
		put_family(p, scope_families[f].name, TYPE_GAUGE, scope_families[f].unit,
			   scope_families[f].help);
		for (size_t i = 0; i < p->report->row_count; i++) {
			if (metrics_has_scopes(&p->report->rows[i]))
				metrics_put_scope_row(p, &scope_families[f], &p->report->rows[i]);
		}
	}
}

/* ---- of the machine and of the tool ------------------------------------------------------- */

static void metrics_put_losses(const struct page *p)
{
	put_family(p, "lost_records", TYPE_COUNTER, NULL,
		   "What the probes could not record, by cause.");
	for (int i = 0; i < LOST_CAUSES; i++) {
		fputs("memleakbpf_lost_records_total{", p->out);
		metrics_put_label(p->out, true, "cause", lost_cause_name((enum lost_cause)i));
		fputc('}', p->out);
		put_value(p->out, (double)p->report->totals.lost[i]);
	}
}

/* A family of one sample, without labels. */
struct metric_row {
	const char *name;
	enum metric_type type;
	const char *unit, *help;
	double value;
};

static void metrics_put_rows(const struct page *p, const struct metric_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		put_family(p, rows[i].name, rows[i].type, rows[i].unit, rows[i].help);
		metrics_put_sample(p, rows[i].name, rows[i].type, rows[i].value);
	}
}

static void metrics_put_totals(const struct page *p)
{
	const struct survey_report *r = p->report;
	const struct survey_totals *t = &r->totals;
	const struct metric_row rows[] = {
		{"processes", TYPE_GAUGE, NULL, "Processes that are followed.",
		 (double)r->process_count},
		{"growing_processes", TYPE_GAUGE, NULL, "Those that are suspect or leaking.",
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
		put_family(p, "resident_memory_bytes", TYPE_GAUGE, "bytes",
			   "Resident memory of memleakbpf itself.");
		metrics_put_sample(p, "resident_memory_bytes", TYPE_GAUGE, (double)t->resident);
	}
}

/* Each kind is there from the beginning: an increase from nothing would be missed. */
static void metrics_put_bad_accesses(const struct page *p)
{
	put_family(
		p, "bad_accesses", TYPE_COUNTER, NULL,
		"What guarded blocks have shown, by kind: overruns, uses after free, wrong frees.");
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];

		for (unsigned kind = 0; kind < BAD_ACCESS_KINDS; kind++) {
			if (!is_shown(row) || !guard_of(row))
				break;
			fputs("memleakbpf_bad_accesses_total{", p->out);
			put_process_labels(p->out, row);
			metrics_put_label(p->out, false, "kind", bad_access_kind_name(kind));
			fputc('}', p->out);
			put_value(p->out, (double)row->kept->guards.bad_accesses[kind]);
		}
	}
}

static void metrics_put_keep(const struct page *p)
{
	const struct survey_keep_report *k = p->report->keep;
	const struct metric_row rows[] = {
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

	const struct metric_row guards[] = {
		{"guarded_processes", TYPE_GAUGE, NULL, "Kept, and their blocks are guarded.",
		 (double)k->guarded},
		{"not_guarded_processes", TYPE_GAUGE, NULL,
		 "Kept, and they cannot have guards: their rows say why.", (double)k->not_guarded},
	};

	metrics_put_rows(p, rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(kept_families); i++)
		put_process_family(p, &kept_families[i]);
	for (size_t i = 0; k->guards && i < ARRAY_SIZE(guard_families); i++)
		put_process_family(p, &guard_families[i]);
	if (!k->guards)
		return;
	metrics_put_rows(p, guards, ARRAY_SIZE(guards));
	metrics_put_bad_accesses(p);
}

static void put_build(const struct page *p)
{
	put_family(p, "build", TYPE_INFO, NULL, "Which memleakbpf this is, and what it reads.");
	fputs("memleakbpf_build_info{", p->out);
	metrics_put_label(p->out, true, "version", MEMLEAKBPF_VERSION);
	metrics_put_label(p->out, false, "source", p->report->source);
	fputs("} 1\n", p->out);
}

int survey_format_metrics(const struct survey_report *report, enum metrics_syntax syntax,
			  char **text, size_t *size)
{
	struct page page = {.syntax = syntax, .report = report};

	*text = NULL;
	*size = 0;
	page.out = open_memstream(text, size);
	if (!page.out)
		return -ENOMEM;
	put_build(&page);
	metrics_put_totals(&page);
	metrics_put_losses(&page);
	if (report->keep)
		metrics_put_keep(&page);
	for (size_t i = 0; i < ARRAY_SIZE(process_families); i++)
		put_process_family(&page, &process_families[i]);
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
