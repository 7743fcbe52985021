// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/metrics_guards.h"

#include "user/base/util.h"
#include "user/export/render.h"

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

static bool value_suppressed(const struct survey_row *row, double *value)
{
	*value = guard_of(row) ? (double)survey_kept_suppressed(row->kept) : 0;
	return guard_of(row) != NULL;
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

static bool value_ended(const struct survey_row *row, double *value)
{
	*value = row->ended;
	return row->ended && guard_of(row);
}

/* With --keep and --guard. */
static const struct metrics_process_family guard_families[] = {
	{"process_guards", TYPE_GAUGE, NULL,
	 "1: blocks of it are being guarded; 0: it cannot have guards, or not any more.",
	 value_guards_on},
	{"process_guard_places_ratio", TYPE_GAUGE, "ratio",
	 "The share of its guarded places that live blocks have.", value_guard_places},
	{"process_guard_quarantine_seconds", TYPE_GAUGE, "seconds",
	 "How long ago the block was freed that has been guarded longest since its free.",
	 value_guard_age},
};

/* What those had come to that have ended stays. */
static const struct metrics_process_family count_families[] = {
	{"process_guarded_blocks", TYPE_COUNTER, NULL, "Blocks that were guarded.", value_guarded},
	{"process_suppressed_bad_accesses", TYPE_COUNTER, NULL,
	 "Of its bad accesses, those that are suppressed.", value_suppressed},
	{"process_ended", TYPE_GAUGE, NULL,
	 "1: it has ended, or become another program; of those with bad accesses, for five "
	 "minutes.",
	 value_ended},
};

/* Each kind is there from the beginning: an increase from nothing would be missed. */
static void metrics_put_bad_accesses(const struct metrics_page *p)
{
	metrics_put_family(
		p, "bad_accesses", TYPE_COUNTER, NULL,
		"What guarded blocks have shown, by kind: overruns, uses after free, wrong frees.");
	for (size_t i = 0; i < p->report->row_count; i++) {
		const struct survey_row *row = &p->report->rows[i];

		for (unsigned kind = 0; kind < MISUSE_GUARDED_KINDS; kind++) {
			if (!guard_of(row))
				break;
			fputs("memleakbpf_bad_accesses_total{", p->out);
			metrics_put_process_labels(p->out, row);
			metrics_put_label(p->out, false, "kind", misuse_kind_name(kind));
			fputc('}', p->out);
			metrics_put_value(p->out, (double)row->kept->guards.bad_accesses[kind]);
		}
	}
}

/* Series of those that have ended go after a while; this one stays. */
static void metrics_put_ended_accesses(const struct metrics_page *p)
{
	metrics_put_family(
		p, "ended_bad_accesses", TYPE_COUNTER, NULL,
		"What guarded blocks had shown of all programs that have ended, by kind.");
	for (unsigned kind = 0; kind < MISUSE_GUARDED_KINDS; kind++) {
		fputs("memleakbpf_ended_bad_accesses_total{", p->out);
		metrics_put_label(p->out, true, "kind", misuse_kind_name(kind));
		fputc('}', p->out);
		metrics_put_value(p->out, (double)p->report->keep->ended_bad_accesses[kind]);
	}
}

void metrics_put_guards(const struct metrics_page *p)
{
	const struct survey_keep_report *k = p->report->keep;
	const struct metrics_row rows[] = {
		{"guarded_processes", TYPE_GAUGE, NULL, "Kept, and their blocks are guarded.",
		 (double)k->guarded},
		{"not_guarded_processes", TYPE_GAUGE, NULL,
		 "Kept, and they cannot have guards: their rows say why.", (double)k->not_guarded},
	};

	if (!k->guards)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(guard_families); i++)
		metrics_put_process_family(p, &guard_families[i], false);
	for (size_t i = 0; i < ARRAY_SIZE(count_families); i++)
		metrics_put_process_family(p, &count_families[i], true);
	metrics_put_rows(p, rows, ARRAY_SIZE(rows));
	metrics_put_bad_accesses(p);
	metrics_put_ended_accesses(p);
}
