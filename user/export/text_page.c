// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* -f text: what a person reads in a terminal, most telling first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/compare.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"
#include "user/export/text_brief.h"
#include "user/export/text_parts.h"
#include "user/model/lost_causes.h"

/* A rendering under way: plain text into memory, so that one write() carries a snapshot. */
struct text_page {
	FILE *out;
	const struct export_options *options;
	const struct report *r;
	const struct snapshot *s; /* the report's */
};

/* ---- the head ----------------------------------------------------------------------------- */

/* "2026-01-02 03:04:05  PID 1234 (shop)" */
static void put_who(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char comm[sizeof(s->comm) + 1], when[TEXT_TIME_MAX];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	fprintf(page->out, "%s  ", text_time(when, s->time_ns));
	if (!s->processes)
		fprintf(page->out, "PID %d (", (int)s->pid);
	else if (s->ended && s->ended < s->processes)
		fprintf(page->out, "%zu processes, %zu of them ended (", s->processes, s->ended);
	else
		fprintf(page->out, "%zu %s (", s->processes,
			text_plural(s->processes, "process", "processes"));
	text_put_name(page->out, *comm ? comm : "?");
	fputc(')', page->out);
}

static void text_put_head(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char elapsed[FORMAT_DURATION_MAX], end[PROCESS_END_TEXT_MAX];

	text_set_style(page->out, page->options, TEXT_BOLD);
	fputs("=== ", page->out);
	put_who(page);
	fprintf(page->out, "  %s since attach", format_duration(elapsed, s->elapsed_ns));
	if (s->final)
		fputs("  FINAL: ", page->out);
	if (s->final && s->processes && s->ended == s->processes) {
		fputs("all have ended", page->out);
	} else if (s->final && s->exited) {
		fputs("target ", page->out);
		text_put_name(page->out, process_end_text(&s->end, end));
	} else if (s->final) {
		fputs(s->execed ? "became another program by exec" : "tracing stopped", page->out);
	}
	fputs(" ===", page->out);
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
}

static void text_put_change(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char change[FORMAT_BYTES_MAX], rate[FORMAT_BYTES_MAX], interval[FORMAT_DURATION_MAX];
	double per_s;

	if (!s->interval_ns)
		return;
	if (!page->r->delta_bytes && !page->r->delta_count) {
		fprintf(page->out, "; no change in %s", format_duration(interval, s->interval_ns));
		return;
	}
	per_s = (double)page->r->delta_bytes * NS_PER_S / (double)s->interval_ns;
	fprintf(page->out, "; %s in %s, %s/s", format_bytes_signed(change, page->r->delta_bytes),
		format_duration(interval, s->interval_ns),
		format_bytes_signed(rate, saturate_i64(per_s)));
}

static void text_put_totals(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (s->live.count || s->live.bytes) {
		fputs("live   ", page->out);
		text_set_style(page->out, page->options, TEXT_BOLD);
		text_put_live(page->out, &s->live);
		text_set_style(page->out, page->options, TEXT_NONE);
	} else {
		fputs("no live allocations since attach", page->out);
	}
	text_put_change(page);
	fprintf(page->out, "\ntotal  %s allocated in %s %s", format_bytes(human, s->alloc.bytes),
		format_grouped(count, s->alloc.count),
		text_plural(s->alloc.count, "call", "calls"));
	fprintf(page->out, ", %s freed in %s\n", format_bytes(human, s->free.bytes),
		format_grouped(count, s->free.count));
	if (page->options->verbose && s->unknown_frees)
		fprintf(page->out, "       %s %s of blocks from before the attach\n",
			format_grouped(count, s->unknown_frees),
			text_plural(s->unknown_frees, "free", "frees"));
}

/*
 * Blocks are what was asked for. Where the process has far less memory than that, most of it was never touched, or
 * is swapped out.
 */
#define TEXT_FAR_APART (16ull << 20)

static void text_put_resident(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char live[FORMAT_BYTES_MAX], rss[FORMAT_BYTES_MAX];

	if (findings_have(page->r->findings, FINDING_MEMORY) || !s->memory.rss ||
	    s->live.bytes < TEXT_FAR_APART || s->live.bytes / 2 < s->memory.rss)
		return;
	fprintf(page->out,
		"memory %s of the process is resident: most of the %s live was never touched, or "
		"is "
		"swapped out\n",
		format_bytes(rss, s->memory.rss), format_bytes(live, s->live.bytes));
}

/* So few arenas name bystanders: whichever object came when the last arena was full. */
#define TEXT_FEW_ARENAS 10

/* They are live as a whole, whatever is in them. */
static void text_put_arenas(const struct text_page *page)
{
	const struct amount *arenas = &page->s->arenas;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (!arenas->count)
		return;
	fprintf(page->out,
		"arenas %s of live in %s: a runtime's own memory, in which it has its "
		"objects, used or not",
		format_bytes(human, arenas->bytes), format_grouped(count, arenas->count));
	if (arenas->count < TEXT_FEW_ARENAS)
		fprintf(page->out, "; fewer than %d are weak evidence of who fills them",
			TEXT_FEW_ARENAS);
	fputc('\n', page->out);
}

static void text_put_heaps(const struct text_page *page)
{
	const struct untraced_heaps *heaps = &page->s->heaps;
	char human[FORMAT_BYTES_MAX];

	if (findings_have(page->r->findings, FINDING_HEAP))
		return;
	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		if (!(heaps->kinds & 1u << i))
			continue;
		fprintf(page->out, "heap   %s is not traced, and what leaks there not seen: ",
			untraced_heap_text((enum untraced_heap)i));
		if (heaps->bytes[i])
			fprintf(page->out, "%s of memory\n", format_bytes(human, heaps->bytes[i]));
		else
			fputs("how much memory it has is not known\n", page->out);
	}
}

/* Addresses that were taken and are not used are memory of nobody: resident sums do not show them. */
static void text_put_space(const struct text_page *page)
{
	const struct growth *growth = &page->s->growth;
	char space[FORMAT_BYTES_MAX], resident[FORMAT_BYTES_MAX];

	if (!growth->space || findings_have(page->r->findings, FINDING_SPACE))
		return;
	fprintf(page->out,
		"space  its addresses (VmSize) grew by %s, what it has in memory by %s: stacks of "
		"threads that nobody joined (--verdict tells), or mappings that it does not "
		"use%s\n",
		format_bytes(space, growth->space), format_bytes(resident, growth->space_resident),
		growth->mmap_traced ? "" : " (--mmap)");
}

/* What was not seen: without it the totals would pass for all that there is. */
static void text_put_untraced(const struct text_page *page)
{
	const struct growth *growth = &page->s->growth;
	char grown[FORMAT_BYTES_MAX], untraced[FORMAT_BYTES_MAX];
	bool said = findings_have(page->r->findings, FINDING_UNTRACED);

	if (!growth->untraced || (said && !growth->where))
		return;
	text_set_style(page->out, page->options, TEXT_WARN);
	if (said)
		fputs("grew   most in:", page->out);
	else
		fprintf(page->out,
			"grew   %s since attach, %s of it no live blocks, and more than freed ones "
			"leave behind",
			format_bytes(grown, growth->anon),
			format_bytes(untraced, growth->untraced));
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
	if (growth->where)
		text_put_lines(page->out, "       ", growth->where);
	if (said)
		return;
	fputs(growth->mmap_traced
		      ? "       what gives out this memory is none of the traced functions\n"
		      : "       what gives out this memory is none of the traced functions (a "
			"runtime's own allocator?): --mmap traces mappings as well\n",
	      page->out);
}

/* "ends   complete 1,028 (12 stacks), truncated 3 (1 stack)" */
static void text_put_ends(const struct text_page *page)
{
	char allocs[FORMAT_GROUPED_MAX], stacks[FORMAT_GROUPED_MAX];
	const char *separator = "ends   ";
	struct stack_ends ends;

	snapshot_ends(page->s, &ends);
	for (size_t i = 0; i <= STACK_ENDS; i++) {
		if (!ends.stacks[i])
			continue;
		fprintf(page->out, "%s%s %s (%s %s)", separator, snapshot_end_name(i),
			format_grouped(allocs, ends.allocs[i]),
			format_grouped(stacks, ends.stacks[i]),
			text_plural(ends.stacks[i], "stack", "stacks"));
		separator = ", ";
	}
	if (page->s->stack_count)
		fputc('\n', page->out);
}

static void put_notes(const struct text_page *page)
{
	const struct snapshot *s = page->s;
	char text[FORMAT_BYTES_MAX + FORMAT_DURATION_MAX + FORMAT_GROUPED_MAX];

	if (s->attached == ATTACHED_BY_USDT && !s->sample_bytes)
		fputs("note   the process samples its allocations itself, and has told of none so "
		      "far\n",
		      page->out);
	else if (s->sample_bytes)
		fprintf(page->out,
			"note   all numbers are estimates: one sample per %s allocated (%s)\n",
			format_bytes(text, s->sample_bytes),
			s->attached == ATTACHED_BY_USDT	  ? "made by the process itself"
			: s->attached == ATTACHED_BY_GATE ? "-s --gate"
							  : "-s");
	if (s->ages_unread)
		fprintf(page->out,
			"note   ages are not read, to save time: %s blocks are live (--older has "
			"them read all the same)\n",
			format_grouped(text, s->ages_unread));
	if (page->options->show_older)
		fprintf(page->out, "note   only blocks older than %s are ranked (--older)\n",
			format_duration(text, page->options->older_ns));
	if (page->options->leak_only)
		fputs(s->verdict.state == VERDICT_TAKEN
			      ? "note   only stacks with lost blocks are shown (--leak-only)\n"
			      : "note   all stacks are shown, for without a verdict nobody knows "
				"which have lost blocks (--leak-only)\n",
		      page->out);
	if (s->children_late)
		fputs("note   probes reached this process after its start: what it allocated "
		      "before is not seen\n",
		      page->out);
}

/* ---- the foot ----------------------------------------------------------------------------- */

static void text_put_share(const struct text_page *page, uint64_t bytes)
{
	const struct amount *live = &page->s->live;
	char human[FORMAT_BYTES_MAX];

	if (live->bytes)
		fprintf(page->out, ": %.1f %% of %s live",
			100.0 * (double)bytes / (double)live->bytes,
			format_bytes(human, live->bytes));
	fputc('\n', page->out);
}

static uint64_t text_live_rows(const struct text_page *page)
{
	const struct snapshot *sums = page->r->rows->sums->snapshot;
	uint64_t count = 0;

	for (size_t i = 0; i < sums->stack_count; i++)
		count += sums->stacks[i].live.count || sums->stacks[i].live.bytes;
	return count;
}

/* `hang` stacks of what hangs on lost blocks are not shown. */
static void text_put_hanging(const struct text_page *page, uint64_t hang)
{
	char few[FORMAT_GROUPED_MAX];

	if (hang)
		fprintf(page->out,
			"%s %s of what hangs on lost blocks %s not shown, but counted with these "
			"(-v)\n",
			format_grouped(few, hang), text_plural(hang, "stack", "stacks"),
			text_plural(hang, "is", "are"));
}

static void put_summary(const struct text_page *page, const struct stack *const *shown,
			size_t shown_count)
{
	const struct snapshot *s = page->s;
	char few[FORMAT_GROUPED_MAX], all[FORMAT_GROUPED_MAX], stacks[FORMAT_GROUPED_MAX];
	uint64_t bytes = 0, live_stacks = 0, hang = 0;

	for (size_t i = 0; i < s->stack_count; i++) {
		live_stacks += !page->r->notes[i].hidden &&
			       (s->stacks[i].live.count || s->stacks[i].live.bytes);
		if (page->r->notes[i].hidden || !page->r->notes[i].hangs || page->options->verbose)
			continue;
		hang++;
		bytes += s->stacks[i].live.bytes;
	}
	for (size_t i = 0; i < shown_count; i++)
		bytes += shown[i]->live.bytes;
	if (!shown_count && !live_stacks)
		return;
	if (!shown_count) {
		fprintf(page->out, "\nno stack to show: none of %s %s of live blocks is %s\n",
			format_grouped(all, live_stacks),
			text_plural(live_stacks, "stack", "stacks"),
			page->options->show_older ? "old enough (--older)" : "asked for by --sort");
		return;
	}
	if (page->r->rows && page->r->rows->sums->snapshot->stack_count < live_stacks) {
		fprintf(page->out, "\n%s of %s %s shown, of %s stacks",
			format_grouped(few, shown_count), format_grouped(all, text_live_rows(page)),
			text_plural(text_live_rows(page), "row", "rows"),
			format_grouped(stacks, live_stacks));
		text_put_share(page, bytes);
		text_put_hanging(page, hang);
		return;
	}
	/* Stacks whose blocks are all freed are shown under --sort alloc only. */
	if (live_stacks < shown_count)
		live_stacks = s->stack_count > shown_count ? s->stack_count : shown_count;
	fprintf(page->out, "\n%s of %s %s shown", format_grouped(few, shown_count),
		format_grouped(all, live_stacks), text_plural(live_stacks, "stack", "stacks"));
	text_put_share(page, bytes);
	text_put_hanging(page, hang);
}

static void text_put_losses(const struct text_page *page)
{
	char count[FORMAT_GROUPED_MAX];

	for (int i = 0; i < LOST_CAUSES; i++) {
		if (!page->s->lost[i])
			continue;
		text_set_style(page->out, page->options, TEXT_WARN);
		fprintf(page->out, "lost   %s %s", format_grouped(count, page->s->lost[i]),
			lost_cause_text((enum lost_cause)i));
		text_set_style(page->out, page->options, TEXT_NONE);
		fputc('\n', page->out);
	}
}

/*
 * A shell that execs its last command leaves what it had allocated behind: worth a line, not a
 * page.
 */
static void put_execed(const struct text_page *page)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	const struct amount *live = &page->s->live;

	put_who(page);
	fprintf(page->out, " became another program by exec; %s in %s %s live\n",
		format_bytes(human, live->bytes), format_grouped(count, live->count),
		text_plural(live->count, "block was", "blocks were"));
}

static void text_put_page(const struct text_page *page, const struct stack *const *shown,
			  size_t shown_count)
{
	text_put_head(page);
	text_put_findings(page->out, page->options, page->r->findings);
	if (page->r->findings && page->r->findings->count)
		fputc('\n', page->out);
	text_put_totals(page);
	text_put_figures_sum(page->out, page->s);
	text_put_resident(page);
	text_put_arenas(page);
	text_put_heaps(page);
	text_put_space(page);
	text_put_untraced(page);
	if (page->options->verbose)
		text_put_ends(page);
	text_put_verdict(page->out, page->options, page->r);
	text_put_guard(page->out, page->options, page->r);
	put_notes(page);
	text_put_scopes(page->out, page->options, page->r);
	if (page->options->brief)
		text_put_brief(page->out, page->options, page->r, shown, shown_count);
	else if (page->r->rows)
		text_put_rows(page->out, page->options, page->r, shown, shown_count);
	else
		text_put_stacks(page->out, page->options, page->r, shown, shown_count);
	put_summary(page, shown, shown_count);
	if (!page->options->brief)
		text_put_unnamed(page->out, text_listed(page->r), shown, shown_count);
	text_put_misuses(page->out, page->options, page->r);
	text_put_suppressed(page->out, page->r);
	text_put_losses(page);
}

struct text_exporter {
	struct exporter base;
	struct text_rounds *rounds;
	struct survey_shown *shown;
	bool in_round;
};

static struct exporter *text_open(FILE *out, const struct export_options *options)
{
	struct text_exporter *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->base = (struct exporter){.out = out, .options = *options};
	text->rounds = text_rounds_new();
	text->shown = survey_shown_new();
	if (text->rounds && text->shown)
		return &text->base;
	text_rounds_free(text->rounds);
	survey_shown_free(text->shown);
	free(text);
	return NULL;
}

/* In a round it stands behind the page that it belongs to. */
static int text_inspection(struct exporter *e, const struct inspection *inspection, size_t top)
{
	struct text_exporter *text = (struct text_exporter *)e;
	const struct exporter whole = *e;
	char *page = NULL;
	size_t len = 0;
	int err;

	if (!text->in_round)
		return inspection_write_text(e, inspection, top);
	e->out = open_memstream(&page, &len);
	if (e->out) {
		err = inspection_write_text(e, inspection, top);
		err = close_memstream(e->out) ?: err;
	} else {
		err = -ENOMEM;
	}
	*e = whole;
	err = err ?: text_rounds_append(text->rounds, page);
	free(page);
	return err;
}

static int text_round(struct exporter *e, bool begins)
{
	struct text_exporter *text = (struct text_exporter *)e;

	text->in_round = begins;
	return begins ? 0 : text_rounds_write(text->rounds, e);
}

static int text_close(struct exporter *e)
{
	struct text_exporter *text = (struct text_exporter *)e;

	if (text) {
		text_rounds_free(text->rounds);
		survey_shown_free(text->shown);
	}
	return exporter_close(e);
}

/*
 * Stacks of what hangs on lost blocks are not shown: these say it. Returns how many stacks are left of the
 * list, or SIZE_MAX when out of memory; the caller frees it.
 */
static size_t text_leave_out_hanging(const struct export_options *options, const struct report *r,
				     const struct stack *const *shown, size_t shown_count,
				     const struct stack ***left)
{
	size_t count = 0;

	*left = calloc(shown_count + 1, sizeof(struct stack *));
	if (!*left)
		return SIZE_MAX;
	for (size_t i = 0; i < shown_count; i++) {
		if (options->verbose || !report_notes(text_listed(r), shown[i])->hangs)
			(*left)[count++] = shown[i];
	}
	return count;
}

static int text_snapshot(struct exporter *e, const struct report *r, const struct stack *const *all,
			 size_t all_count)
{
	_cleanup_free_ const struct stack **shown = NULL;
	size_t shown_count = text_leave_out_hanging(&e->options, r, all, all_count, &shown);
	struct text_exporter *exporter = (struct text_exporter *)e;
	struct text_page page = {.options = &e->options, .r = r, .s = r->snapshot};
	char *text = NULL;
	size_t len = 0;
	int err;

	page.out = shown_count != SIZE_MAX ? open_memstream(&text, &len) : NULL;
	if (!page.out)
		return -ENOMEM;
	if (r->snapshot->execed && !e->options.verbose)
		put_execed(&page);
	else
		text_put_page(&page, shown, shown_count);
	fputc('\n', page.out);
	err = close_memstream(page.out);
	if (!err && exporter->in_round)
		return text_rounds_take(exporter->rounds, &e->options, r, shown, shown_count, text);
	err = err ?: text_page_write(e, text, len);
	free(text);
	return err;
}

static int text_survey(struct exporter *e, const struct survey_report *report)
{
	return survey_write_text(e, report, ((struct text_exporter *)e)->shown);
}

const struct exporter_format format_text = {
	.name = "text",
	.help = "for people, with the top stacks",
	.rows = true,
	.says = true,
	.open = text_open,
	.snapshot = text_snapshot,
	.round = text_round,
	.survey = text_survey,
	.inspection = text_inspection,
	.kernel = kernel_write_text,
	.close = text_close,
	.compare = compare_text,
	.findings = EXPORT_LINES,
};
