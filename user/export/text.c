// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* -f text: what a person reads in a terminal, most telling first. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"

/* Wide enough for most names, narrow enough that file:line still fits beside them. */
#define MIN_FUNCTION_WIDTH 16
#define MAX_FUNCTION_WIDTH 44

/* A rendering under way: plain text into memory, so that one write() carries a snapshot. */
struct page {
	FILE *out;
	const struct export_options *options;
	const struct snapshot *s;
};

enum style {
	STYLE_NONE,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_WARN,
};

static void set_style(const struct page *page, enum style style)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m",
		[STYLE_BOLD] = "\033[1m",
		[STYLE_DIM] = "\033[2m",
		[STYLE_WARN] = "\033[33m",
	};

	if (page->options->color)
		fputs(codes[style], page->out);
}

/* ---- paths -------------------------------------------------------------------------------- */

/*
 * Cuts "." and "x/.." out of a path: "./malloc/./malloc/malloc.c" is "malloc/malloc/malloc.c".
 * `clean` holds strlen(path) + 1.
 */
static void normalize_path(const char *path, char *clean)
{
	char *start = clean, *end = clean, *floor;

	if (*path == '/')
		*end++ = '/';
	start = floor = end;
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2) && end > floor) {
			/* One component back; end points behind its slash or its last letter. */
			while (end > floor && end[-1] != '/')
				end--;
			if (end > start)
				end--;
		} else if (len && !(len == 1 && *path == '.')) {
			if (end > start)
				*end++ = '/';
			memcpy(end, path, len);
			end += len;
			/* Nothing cancels a leading "..". */
			if (len == 2 && !memcmp(path, "..", 2))
				floor = end;
		}
		path += len + (path[len] == '/');
	}
	*end = '\0';
}

/* ---- the head ----------------------------------------------------------------------------- */

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* "2026-01-02 03:04:05  PID 1234 (shop)" */
static void put_who(const struct page *page)
{
	const struct snapshot *s = page->s;
	time_t seconds = (time_t)(s->time_ns / NS_PER_S);
	char comm[sizeof(s->comm) + 1], when[64] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	fprintf(page->out, "%s  ", when);
	if (!s->processes)
		fprintf(page->out, "PID %d (", (int)s->pid);
	else if (s->ended && s->ended < s->processes)
		fprintf(page->out, "%zu processes, %zu of them ended (", s->processes, s->ended);
	else
		fprintf(page->out, "%zu %s (", s->processes,
			plural(s->processes, "process", "processes"));
	text_put_name(page->out, *comm ? comm : "?");
	fputc(')', page->out);
}

static void put_head(const struct page *page)
{
	const struct snapshot *s = page->s;
	char elapsed[FORMAT_DURATION_MAX];

	set_style(page, STYLE_BOLD);
	fputs("=== ", page->out);
	put_who(page);
	fprintf(page->out, "  %s since attach", format_duration(elapsed, s->elapsed_ns));
	if (s->final)
		fprintf(page->out, "  FINAL: %s",
			s->processes && s->ended == s->processes ? "all have ended"
			: s->exited				 ? "target exited"
			: s->execed				 ? "became another program by exec"
								 : "tracing stopped");
	fputs(" ===", page->out);
	set_style(page, STYLE_NONE);
	fputc('\n', page->out);
}

static void put_change(const struct page *page)
{
	const struct snapshot *s = page->s;
	char change[FORMAT_BYTES_MAX], rate[FORMAT_BYTES_MAX], interval[FORMAT_DURATION_MAX];
	double per_s;

	if (!s->interval_ns)
		return;
	if (!s->delta_bytes && !s->delta_count) {
		fprintf(page->out, "; no change in %s", format_duration(interval, s->interval_ns));
		return;
	}
	per_s = (double)s->delta_bytes * NS_PER_S / (double)s->interval_ns;
	fprintf(page->out, "; %s in %s, %s/s", format_bytes_signed(change, s->delta_bytes),
		format_duration(interval, s->interval_ns),
		format_bytes_signed(rate, saturate_i64(per_s)));
}

/* "1.3 MiB (1,363,148 B) in 1,024 blocks" */
static void put_live(const struct page *page, const struct amount *live)
{
	char human[FORMAT_BYTES_MAX], exact[FORMAT_GROUPED_MAX], count[FORMAT_GROUPED_MAX];

	fputs(format_bytes(human, live->bytes), page->out);
	if (live->bytes >= 1024) /* below, the first figure is exact already */
		fprintf(page->out, " (%s B)", format_grouped(exact, live->bytes));
	fprintf(page->out, " in %s %s", format_grouped(count, live->count),
		plural(live->count, "block", "blocks"));
}

static void put_totals(const struct page *page)
{
	const struct snapshot *s = page->s;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (s->live.count || s->live.bytes) {
		fputs("live   ", page->out);
		set_style(page, STYLE_BOLD);
		put_live(page, &s->live);
		set_style(page, STYLE_NONE);
	} else {
		fputs("no live allocations since attach", page->out);
	}
	put_change(page);
	fprintf(page->out, "\ntotal  %s allocated in %s %s", format_bytes(human, s->alloc.bytes),
		format_grouped(count, s->alloc.count), plural(s->alloc.count, "call", "calls"));
	fprintf(page->out, ", %s freed in %s\n", format_bytes(human, s->free.bytes),
		format_grouped(count, s->free.count));
	if (page->options->verbose && s->unknown_frees)
		fprintf(page->out, "       %s %s of blocks from before the attach\n",
			format_grouped(count, s->unknown_frees),
			plural(s->unknown_frees, "free", "frees"));
}

/* "ends   complete 1,028 (12 stacks), truncated 3 (1 stack)" */
static void put_ends(const struct page *page)
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
			plural(ends.stacks[i], "stack", "stacks"));
		separator = ", ";
	}
	if (page->s->stack_count)
		fputc('\n', page->out);
}

static void put_notes(const struct page *page)
{
	const struct snapshot *s = page->s;
	char text[FORMAT_BYTES_MAX > FORMAT_DURATION_MAX ? FORMAT_BYTES_MAX : FORMAT_DURATION_MAX];

	if (s->sample_bytes)
		fprintf(page->out,
			"note   all numbers are estimates: one sample per %s allocated (-s)\n",
			format_bytes(text, s->sample_bytes));
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

/* ---- stacks ------------------------------------------------------------------------------- */

static void put_location(const struct page *page, const struct frame *frame)
{
	char *clean = malloc(strlen(frame->file) + 1);

	fputs("  ", page->out);
	if (clean)
		normalize_path(frame->file, clean);
	text_put_name(page->out, clean && *clean ? clean : frame->file);
	free(clean);
	if (frame->line)
		fprintf(page->out, ":%" PRIu32, frame->line);
}

/*
 * "function+0x1c"; without a function "module+0x1234", without a module "0x7f…". Returns its width;
 * `out` as in text_put_name().
 */
static size_t put_function(FILE *out, const struct frame *frame)
{
	char offset[24];
	size_t width = 0;
	int n;

	if (frame->function || frame->module)
		width = text_put_name(out, frame->function ? frame->function : frame->module);
	/* An inlined call has no start of its own that an offset could count from. */
	if (frame->inlined && frame->function)
		return width;
	n = snprintf(offset, sizeof(offset), "%s0x%" PRIx64, width ? "+" : "", frame->offset);
	if (out)
		fputs(offset, out);
	return width + (size_t)n;
}

static void put_frame(const struct page *page, const struct frame *frame, size_t column)
{
	size_t width;

	fputs("    ", page->out);
	width = put_function(page->out, frame);
	if (width < column && (frame->file || (frame->module && frame->function)))
		fprintf(page->out, "%*s", (int)(column - width), "");
	if (frame->file)
		put_location(page, frame);
	if (frame->module && frame->function) {
		set_style(page, STYLE_DIM);
		fputs("  (", page->out);
		text_put_name(page->out, frame->module);
		fputc(')', page->out);
		set_style(page, STYLE_NONE);
	}
	if (frame->inlined)
		fputs(" (inlined)", page->out);
	if (page->options->verbose)
		fprintf(page->out, "  [0x%" PRIx64 "]", frame->module_offset);
	fputc('\n', page->out);
}

/* Where file:line begins: behind the longest name that is not too long. */
static size_t function_column(const struct page *page, const struct stack *stack)
{
	size_t column = MIN_FUNCTION_WIDTH, limit = MAX_FUNCTION_WIDTH;

	if (page->options->width && page->options->width / 2 < limit)
		limit = page->options->width / 2;
	for (size_t i = 0; i < stack->frame_count; i++) {
		size_t width = put_function(NULL, stack->frames[i]);

		if (width > column && width <= limit)
			column = width;
	}
	return column;
}

static void put_frames(const struct page *page, const struct stack *stack)
{
	if (!stack->frames || !stack->frame_count) {
		fputs("    (the frames of this stack could not be recorded)\n", page->out);
	} else {
		size_t column = function_column(page, stack);

		for (size_t i = 0; i < stack->frame_count; i++)
			put_frame(page, stack->frames[i], column);
	}
	if (stack->truncated)
		fputs("    ... truncated: deeper than what was recorded (--depth)\n", page->out);
	else if (stack->end != STACK_END_COMPLETE)
		fprintf(page->out, "    ... incomplete: the walk ended here (%s)\n",
			stack_end_name(stack->end));
}

void text_frames(FILE *out, const struct export_options *options, const struct stack *stack)
{
	const struct page page = {.out = out, .options = options};

	put_frames(&page, stack);
}

static void put_older(const struct page *page, const struct stack *stack)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], age[FORMAT_DURATION_MAX];

	fprintf(page->out, "    older than %s: %s in %s %s\n",
		format_duration(age, page->options->older_ns),
		format_bytes(human, stack->older.bytes), format_grouped(count, stack->older.count),
		plural(stack->older.count, "block", "blocks"));
}

/*
 * How much of what this stack ever allocated is left: a leak keeps nearly all of it, a cache turns
 * it over.
 */
static void put_turnover(const struct page *page, const struct stack *stack)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(page->out, "    of %s allocated in %s %s", format_bytes(human, stack->alloc.bytes),
		format_grouped(count, stack->alloc.count),
		plural(stack->alloc.count, "call", "calls"));
	if (stack->alloc.bytes)
		fprintf(page->out, ", %.1f %% still live",
			100.0 * (double)stack->live.bytes / (double)stack->alloc.bytes);
	fputc('\n', page->out);
}

static void put_trend(const struct page *page, const struct trend *trend)
{
	char rate[FORMAT_BYTES_MAX];

	if (trend->kind != TREND_GROWING)
		return;
	set_style(page, STYLE_WARN);
	fprintf(page->out, "    growing by %s per hour: %s",
		format_bytes(rate, saturate_u64(trend->growth * 3600)), trend->reason);
	set_style(page, STYLE_NONE);
	fputc('\n', page->out);
}

static void put_stack(const struct page *page, size_t number, const struct stack *stack)
{
	const struct snapshot *s = page->s;
	char human[FORMAT_BYTES_MAX], age[FORMAT_DURATION_MAX];

	fputc('\n', page->out);
	set_style(page, STYLE_BOLD);
	fprintf(page->out, "#%-2zu ", number);
	put_live(page, &stack->live);
	set_style(page, STYLE_NONE);
	if (s->sample_bytes)
		fprintf(page->out, ", standard error %s",
			format_bytes(human, saturate_u64(stack->error_bytes + 0.5)));
	if (stack->live.count > 1)
		fprintf(page->out, ", avg %s",
			format_bytes(human, stack->live.bytes / stack->live.count));
	if (s->live.bytes)
		fprintf(page->out, ", %.1f %% of live",
			100.0 * (double)stack->live.bytes / (double)s->live.bytes);
	if (s->interval_ns && stack->delta_bytes)
		fprintf(page->out, ", %s in %s", format_bytes_signed(human, stack->delta_bytes),
			format_duration(age, s->interval_ns));
	else if (s->interval_ns)
		fputs(", no change", page->out);
	if (stack->oldest_ns)
		fprintf(page->out, ", oldest %s", format_duration(age, stack->oldest_ns));
	fputc('\n', page->out);
	put_trend(page, &stack->trend);
	text_put_stack_verdict(page->out, page->options, s, stack);
	if (page->options->show_older)
		put_older(page, stack);
	if (stack->free.count)
		put_turnover(page, stack);
	if (page->options->verbose)
		fprintf(page->out, "    stack %016" PRIx64 ", end %s\n", stack->id,
			stack_end_name(stack->end));
	put_frames(page, stack);
	suppression_put(page->out, page->options->suppressions, s, stack);
}

void text_put_stack(FILE *out, const struct export_options *options, const struct snapshot *s,
		    size_t number, const struct stack *stack)
{
	const struct page page = {.out = out, .options = options, .s = s};

	put_stack(&page, number, stack);
}

/* ---- the foot ----------------------------------------------------------------------------- */

static void put_summary(const struct page *page, const struct stack *const *shown,
			size_t shown_count)
{
	const struct snapshot *s = page->s;
	char human[FORMAT_BYTES_MAX], few[FORMAT_GROUPED_MAX], all[FORMAT_GROUPED_MAX];
	uint64_t bytes = 0, live_stacks = 0;

	for (size_t i = 0; i < s->stack_count; i++)
		live_stacks += !s->stacks[i].hidden &&
			       (s->stacks[i].live.count || s->stacks[i].live.bytes);
	for (size_t i = 0; i < shown_count; i++)
		bytes += shown[i]->live.bytes;
	if (!shown_count && !live_stacks)
		return;
	if (!shown_count) {
		fprintf(page->out, "\nno stack to show: none of %s %s of live blocks is %s\n",
			format_grouped(all, live_stacks), plural(live_stacks, "stack", "stacks"),
			page->options->show_older ? "old enough (--older)" : "asked for by --sort");
		return;
	}
	/* Stacks whose blocks are all freed are shown under --sort alloc only. */
	if (live_stacks < shown_count)
		live_stacks = s->stack_count > shown_count ? s->stack_count : shown_count;
	fprintf(page->out, "\n%s of %s %s shown", format_grouped(few, shown_count),
		format_grouped(all, live_stacks), plural(live_stacks, "stack", "stacks"));
	if (s->live.bytes)
		fprintf(page->out, ": %.1f %% of %s live",
			100.0 * (double)bytes / (double)s->live.bytes,
			format_bytes(human, s->live.bytes));
	fputc('\n', page->out);
}

static void put_losses(const struct page *page)
{
	char count[FORMAT_GROUPED_MAX];

	for (int i = 0; i < LOST_CAUSES; i++) {
		if (!page->s->lost[i])
			continue;
		set_style(page, STYLE_WARN);
		fprintf(page->out, "lost   %s %s", format_grouped(count, page->s->lost[i]),
			lost_cause_text((enum lost_cause)i));
		set_style(page, STYLE_NONE);
		fputc('\n', page->out);
	}
}

/*
 * A shell that execs its last command leaves what it had allocated behind: worth a line, not a
 * page.
 */
static void put_execed(const struct page *page)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	const struct amount *live = &page->s->live;

	put_who(page);
	fprintf(page->out, " became another program by exec; %s in %s %s live\n",
		format_bytes(human, live->bytes), format_grouped(count, live->count),
		plural(live->count, "block was", "blocks were"));
}

static void put_page(const struct page *page, const struct stack *const *shown, size_t shown_count)
{
	put_head(page);
	put_totals(page);
	if (page->options->verbose)
		put_ends(page);
	text_put_verdict(page->out, page->options, &page->s->verdict);
	put_notes(page);
	for (size_t i = 0; i < shown_count; i++)
		put_stack(page, i + 1, shown[i]);
	put_summary(page, shown, shown_count);
	text_put_bad_frees(page->out, page->options, page->s);
	text_put_suppressed(page->out, page->s);
	put_losses(page);
}

static int text_snapshot(struct exporter *e, const struct snapshot *s,
			 const struct stack *const *shown, size_t shown_count)
{
	struct page page = {.options = &e->options, .s = s};
	char *text = NULL;
	size_t len = 0;
	int err;

	page.out = open_memstream(&text, &len);
	if (!page.out)
		return -ENOMEM;
	if (s->execed && !e->options.verbose)
		put_execed(&page);
	else
		put_page(&page, shown, shown_count);
	fputc('\n', page.out);
	err = close_memstream(page.out) ?: exporter_write(e, text, len);
	free(text);
	return err;
}

const struct exporter_format format_text = {
	.name = "text",
	.help = "for people, with the top stacks",
	.open = exporter_new,
	.snapshot = text_snapshot,
	.close = exporter_close,
};
