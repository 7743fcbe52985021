// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Stacks for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

/* Wide enough for most names, narrow enough that file:line still fits beside them. */
#define MIN_FUNCTION_WIDTH 16
#define MAX_FUNCTION_WIDTH 44

/* Whose stacks they are, and how they are shown. */
struct text_page {
	FILE *out;
	const struct export_options *options;
	const struct report *r;
};

/* ---- frames -------------------------------------------------------------------------------- */

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

static void put_location(const struct text_page *page, const struct frame *frame)
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
	if ((frame->inlined && frame->function) || (width && !frame_is_code(frame)))
		return width;
	n = snprintf(offset, sizeof(offset), "%s0x%" PRIx64, width ? "+" : "", frame->offset);
	if (out)
		fputs(offset, out);
	return width + (size_t)n;
}

static void text_put_frame(const struct text_page *page, const struct frame *frame, size_t column)
{
	char where[FRAME_WHERE_MAX];
	/* Without a function an object's name stands in its place. */
	bool placed = (frame->function || !frame_in_object(frame)) && *frame_where(frame, where);
	size_t width;

	fputs("    ", page->out);
	width = put_function(page->out, frame);
	if (width < column && (frame->file || placed))
		fprintf(page->out, "%*s", (int)(column - width), "");
	if (frame->file)
		put_location(page, frame);
	if (placed) {
		text_set_style(page->out, page->options, TEXT_DIM);
		fputs("  (", page->out);
		text_put_name(page->out, where);
		fputc(')', page->out);
		text_set_style(page->out, page->options, TEXT_NONE);
	}
	if (frame->inlined)
		fputs(" (inlined)", page->out);
	if (page->options->verbose && frame_is_code(frame))
		fprintf(page->out, "  [0x%" PRIx64 "]", frame->module_offset);
	fputc('\n', page->out);
}

/* Where file:line begins: behind the longest name that is not too long. */
static size_t function_column(const struct text_page *page, const struct frame *const *frames,
			      size_t count)
{
	size_t column = MIN_FUNCTION_WIDTH, limit = MAX_FUNCTION_WIDTH;

	if (page->options->width && page->options->width / 2 < limit)
		limit = page->options->width / 2;
	for (size_t i = 0; i < count; i++) {
		size_t width = put_function(NULL, frames[i]);

		if (width > column && width <= limit)
			column = width;
	}
	return column;
}

static void put_frames(const struct text_page *page, const struct frame *const *frames,
		       size_t count, enum stack_end end)
{
	if (!frames || !count) {
		fputs("    (the frames of this stack could not be recorded)\n", page->out);
	} else {
		size_t column = function_column(page, frames, count);

		for (size_t i = 0; i < count; i++)
			text_put_frame(page, frames[i], column);
	}
	if (end == STACK_END_TRUNCATED)
		fputs("    ... truncated: deeper than what was recorded (--depth)\n", page->out);
	else if (end != STACK_END_COMPLETE)
		fprintf(page->out, "    ... incomplete: the walk ended here (%s)\n",
			stack_end_name(end));
}

void text_frames(FILE *out, const struct export_options *options, const struct frame *const *frames,
		 size_t count, enum stack_end end)
{
	const struct text_page page = {.out = out, .options = options};

	put_frames(&page, frames, count, end);
}

static void put_older(const struct text_page *page, const struct stack *stack)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], age[FORMAT_DURATION_MAX];

	fprintf(page->out, "    older than %s: %s in %s %s\n",
		format_duration(age, page->options->older_ns),
		format_bytes(human, stack->older.bytes), format_grouped(count, stack->older.count),
		text_plural(stack->older.count, "block", "blocks"));
}

/*
 * How much of what this stack ever allocated is left: a leak keeps nearly all of it, a cache turns
 * it over.
 */
static void put_turnover(const struct text_page *page, const struct stack *stack)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(page->out, "    of %s allocated in %s %s", format_bytes(human, stack->alloc.bytes),
		format_grouped(count, stack->alloc.count),
		text_plural(stack->alloc.count, "call", "calls"));
	if (stack->alloc.bytes)
		fprintf(page->out, ", %.1f %% still live",
			100.0 * (double)stack->live.bytes / (double)stack->alloc.bytes);
	fputc('\n', page->out);
}

static void put_trend(const struct text_page *page, const struct trend *trend)
{
	char rate[FORMAT_BYTES_MAX];

	if (trend->kind != TREND_GROWING)
		return;
	text_set_style(page->out, page->options, TEXT_WARN);
	fprintf(page->out, "    growing by %s per hour: %s",
		format_bytes(rate, saturate_u64(trend->growth * 3600)), trend->reason);
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
}

static void text_stack_put(const struct text_page *page, size_t number, const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(page->r, stack);
	const struct snapshot *s = page->r->snapshot;
	char human[FORMAT_BYTES_MAX], age[FORMAT_DURATION_MAX];

	fputc('\n', page->out);
	text_set_style(page->out, page->options, TEXT_BOLD);
	fprintf(page->out, "#%-2zu ", number);
	text_put_live(page->out, &stack->live);
	text_set_style(page->out, page->options, TEXT_NONE);
	if (s->sample_bytes)
		fprintf(page->out, ", standard error %s",
			format_bytes(human, saturate_u64(stack->error_bytes + 0.5)));
	if (stack->live.count > 1)
		fprintf(page->out, ", avg %s",
			format_bytes(human, stack->live.bytes / stack->live.count));
	if (s->live.bytes)
		fprintf(page->out, ", %.1f %% of live",
			100.0 * (double)stack->live.bytes / (double)s->live.bytes);
	if (s->interval_ns && notes->delta_bytes)
		fprintf(page->out, ", %s in %s", format_bytes_signed(human, notes->delta_bytes),
			format_duration(age, s->interval_ns));
	else if (s->interval_ns)
		fputs(", no change", page->out);
	if (stack->oldest_ns)
		fprintf(page->out, ", oldest %s", format_duration(age, stack->oldest_ns));
	fputc('\n', page->out);
	put_trend(page, &notes->trend);
	text_put_stack_verdict(page->out, page->options, page->r, stack);
	if (page->options->show_older)
		put_older(page, stack);
	if (stack->free.count)
		put_turnover(page, stack);
	if (page->options->verbose)
		fprintf(page->out, "    stack %016" PRIx64 ", end %s\n", stack->id,
			stack_end_name(stack->end));
	put_frames(page, notes->frames, notes->frame_count,
		   stack->truncated ? STACK_END_TRUNCATED : stack->end);
	suppression_put(page->out, page->options->suppressions, page->r, stack);
}

void text_put_stack(FILE *out, const struct export_options *options, const struct report *r,
		    size_t number, const struct stack *stack)
{
	const struct text_page page = {.out = out, .options = options, .r = r};

	text_stack_put(&page, number, stack);
}
