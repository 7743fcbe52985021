// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Stacks for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/row_label.h"
#include "user/export/text_fit.h"
#include "user/export/text_parts.h"
#include "user/model/function_name.h"

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

/* A frame as it is shown, in pieces; widths are of what fits. */
struct frame_text {
	char function[TEXT_FIT_MAX]; /* "function+0x1c", "module+0x1234", "0x7f..." */
	char place[TEXT_FIT_MAX];    /* "src/cart.cc:42"; "" unknown */
	char where[TEXT_FIT_MAX];    /* "libc.so.6"; "" not said */
	size_t function_width, place_width, where_width;
};

static const char *frame_offset(const struct frame *frame, bool named, char buf[static 24])
{
	*buf = '\0';
	/* An inlined call has no start of its own that an offset could count from. */
	if ((frame->inlined && frame->function) || (named && !frame_is_code(frame)))
		return buf;
	snprintf(buf, 24, "%s0x%" PRIx64, named ? "+" : "", frame->offset);
	return buf;
}

/*
 * "function+0x1c"; without a function "module+0x1234", without a module "0x7f…", in `width`
 * characters (0: as many as there are). Names are folded but for -v. Returns its width.
 */
static size_t frame_name(const struct text_page *page, const struct frame *frame, size_t width,
			 char buf[static TEXT_FIT_MAX])
{
	const char *name = frame->function ?: frame->module;
	char folded[FUNCTION_NAME_MAX], offset[24];
	size_t offset_width = strlen(frame_offset(frame, name, offset)), used = 0, len;

	buf[0] = '\0';
	if (name && frame->function && frame->kind == FRAME_KIND_NATIVE && !page->options->verbose)
		name = function_name_fold(folded, name);
	if (name)
		used = text_shorten(buf, name, SIZE_MAX);
	if (name == folded && width && used + offset_width > width)
		used = text_shorten(buf, function_name_cut(folded, frame->function), SIZE_MAX);
	if (width && used + offset_width > width)
		used = text_shorten(buf, name, width > offset_width + 8 ? width - offset_width : 8);
	len = strlen(buf);
	snprintf(buf + len, TEXT_FIT_MAX - len, "%s", offset);
	return used + offset_width;
}

/* "src/cart.cc:42" in `width` characters; the line is never cut. Returns its width. */
static size_t frame_place(const struct frame *frame, size_t width, char buf[static TEXT_FIT_MAX])
{
	_cleanup_free_ char *clean = malloc(strlen(frame->file) + 1);
	const char *path = frame->file;
	char line[16] = "";
	size_t used, len;

	if (clean)
		normalize_path(frame->file, clean);
	if (clean && *clean)
		path = clean;
	if (frame->line)
		snprintf(line, sizeof(line), ":%" PRIu32, frame->line);
	len = strlen(line);
	used = path_shorten(buf, path, width > len ? width - len : 0);
	snprintf(buf + strlen(buf), TEXT_FIT_MAX - strlen(buf), "%s", line);
	return used + len;
}

/* How much is left when so much is taken, and not less than `least`. */
static size_t frame_room(size_t width, size_t taken, size_t least)
{
	return width > taken + least ? width - taken : least;
}

/*
 * What is too wide gets narrower in this order: the module, the path, the function. `extra`: what
 * follows them.
 */
static void frame_fit(const struct text_page *page, const struct frame *frame, size_t column,
		      size_t extra, struct frame_text *t)
{
	const size_t width = page->options->width, indent = strlen("    ");
	char where[FRAME_WHERE_MAX];
	size_t begin, around;

	t->where[0] = t->place[0] = '\0';
	t->where_width = t->place_width = 0;
	t->function_width = frame_name(page, frame, 0, t->function);
	/* Without a function an object's name stands in its place. */
	if (frame->function || !frame_in_object(frame))
		t->where_width = text_shorten(t->where, frame_where(frame, where), SIZE_MAX);
	if (frame->file)
		t->place_width = frame_place(frame, SIZE_MAX, t->place);
	/* -v: all of it; where lines are broken they are so between the pieces. */
	if (!width || page->options->verbose)
		return;
	around = (t->where_width ? strlen("  ()") : 0) + (t->place_width ? 2 : 0) + extra;
	begin = t->function_width;
	if (begin < column && (frame->file || t->where_width))
		begin = column;
	if (indent + begin + around + t->place_width + t->where_width <= width)
		return;
	if (t->where_width > 14)
		t->where_width = text_shorten(
			t->where, frame_where(frame, where),
			frame_room(width, indent + begin + around + t->place_width, 14));
	if (t->place_width > 20)
		t->place_width = frame_place(
			frame, frame_room(width, indent + begin + around + t->where_width, 20),
			t->place);
	t->function_width =
		frame_name(page, frame,
			   frame_room(width, indent + around + t->place_width + t->where_width, 16),
			   t->function);
}

/* Up to the column in which places begin, or as much of it as lets the line fit. */
static void text_put_gap(const struct text_page *page, const struct frame *frame, size_t column,
			 size_t extra, const struct frame_text *t)
{
	size_t taken = strlen("    ") + t->function_width + extra +
		       (t->where_width ? strlen("  ()") + t->where_width : 0) +
		       (t->place_width ? 2 + t->place_width : 0);
	size_t gap = t->function_width < column ? column - t->function_width : 0;

	if (!frame->file && !t->where_width)
		return;
	if (page->options->width && !page->options->verbose && taken + gap > page->options->width)
		gap = page->options->width > taken ? page->options->width - taken : 0;
	fprintf(page->out, "%*s", (int)gap, "");
}

static void text_put_frame(const struct text_page *page, const struct frame *frame, size_t column,
			   bool site)
{
	const bool address = page->options->verbose && frame_is_code(frame);
	struct frame_text t;
	char end[64] = "";
	size_t used = 0;

	if (frame->inlined)
		used = (size_t)snprintf(end, sizeof(end), " (inlined)");
	if (frame->line_begins)
		used += (size_t)snprintf(end + used, sizeof(end) - used, " (definition)");
	if (address)
		snprintf(end + used, sizeof(end) - used, "  [0x%" PRIx64 "]", frame->module_offset);
	frame_fit(page, frame, column, strlen(end), &t);
	fputs("    ", page->out);
	if (site)
		text_set_style(page->out, page->options, TEXT_BOLD);
	fputs(t.function, page->out);
	if (site)
		text_set_style(page->out, page->options, TEXT_NONE);
	text_put_gap(page, frame, column, strlen(end), &t);
	if (frame->file)
		fprintf(page->out, "  %s", t.place);
	if (t.where_width) {
		text_set_style(page->out, page->options, TEXT_DIM);
		fprintf(page->out, "  (%s)", t.where);
		text_set_style(page->out, page->options, TEXT_NONE);
	}
	fprintf(page->out, "%s\n", end);
}

/* Where file:line begins: behind the longest name that is not too long. */
static size_t function_column(const struct text_page *page, const struct frame *const *frames,
			      size_t count)
{
	size_t column = MIN_FUNCTION_WIDTH, limit = MAX_FUNCTION_WIDTH;
	char name[TEXT_FIT_MAX];

	if (page->options->width && page->options->width / 2 < limit)
		limit = page->options->width / 2;
	for (size_t i = 0; i < count; i++) {
		size_t width = frame_name(page, frames[i], 0, name);

		if (width > column && width <= limit)
			column = width;
	}
	return column;
}

/*
 * How many frames from `at` on are the libraries' or the allocator's, and nothing to who reads: two
 * or more, between others. Of those at the beginning of a thread the outermost stay.
 */
static size_t frames_folded(const struct frame *const *frames, size_t count, size_t site, size_t at)
{
	size_t n = 0;

	while (at && at + n < count && at + n != site && frames[at + n]->function &&
	       frame_is_plumbing(frames[at + n]))
		n++;
	if (at + n == count)
		return n >= 5 ? n - 2 : 0;
	return n >= 2 ? n : 0;
}

static void put_frames(const struct text_page *page, const struct frame *const *frames,
		       size_t count, enum stack_end end)
{
	if (!frames || !count) {
		fputs("    (the frames of this stack could not be recorded)\n", page->out);
	} else {
		size_t column = function_column(page, frames, count);
		size_t site = frames_site(frames, count, &page->options->sites);

		for (size_t i = 0; i < count; i++) {
			size_t folded = page->options->verbose || !site
						? 0
						: frames_folded(frames, count, site, i);

			if (!folded) {
				text_put_frame(page, frames[i], column, site && i == site);
				continue;
			}
			fprintf(page->out, "    ... %zu frames of libraries and allocators (-v)\n",
				folded);
			i += folded - 1;
		}
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

/* Amounts of a stack, or of a row of them, below their number. */
static void text_put_amounts(const struct text_page *page, const char *number,
			     const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(page->r, stack);
	const struct snapshot *s = page->r->snapshot;
	char human[FORMAT_BYTES_MAX], age[FORMAT_DURATION_MAX];

	fputc('\n', page->out);
	text_set_style(page->out, page->options, TEXT_BOLD);
	fprintf(page->out, "#%-2s ", number);
	if (s->verdict.state == VERDICT_TAKEN && stack->kept.count)
		fprintf(page->out, "%s lost with what hangs on it: ",
			format_bytes(human, stack_lost_bytes(stack)));
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
	text_put_figures(page->out, page->options, page->r, stack);
	text_put_stack_verdict(page->out, page->options, page->r, stack);
	if (page->options->show_older)
		put_older(page, stack);
	if (stack->free.count)
		put_turnover(page, stack);
}

static void text_stack_put(const struct text_page *page, const char *number,
			   const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(page->r, stack);

	text_put_amounts(page, number, stack);
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
	char text[24];

	snprintf(text, sizeof(text), "%zu", number);
	text_stack_put(&page, text, stack);
}

#define ROW_STACKS 3 /* of a row; -v shows all, as do suppressions, one for each */

/* Those that have live blocks come first; where none has any, all of them count. */
static size_t text_live_stacks(const struct report *r, const size_t *members, size_t count)
{
	size_t live = 0;

	for (size_t i = 0; i < count; i++)
		live += r->snapshot->stacks[members[i]].older.count ||
			r->snapshot->stacks[members[i]].older.bytes;
	return live ?: count;
}

/* Its sums, what its stacks have in common, and the largest of these. */
static void text_put_several(const struct text_page *page, size_t number, const struct stack *row,
			     const size_t *members, size_t count)
{
	const bool all =
		page->options->verbose || page->options->suppressions || page->options->whole;
	const struct text_page sums = {
		.out = page->out, .options = page->options, .r = page->r->rows->sums};
	size_t width = page->options->width > 40 ? page->options->width - 24 : 0, shown;
	char text[48], label[TEXT_FIT_MAX];

	count = text_live_stacks(page->r, members, count);
	shown = all || count < ROW_STACKS ? count : ROW_STACKS;
	snprintf(text, sizeof(text), "%zu", number);
	text_put_amounts(&sums, text, row);
	fprintf(page->out, "    %s: %zu %s\n",
		row_label(label, page->options, page->r, row, width, LABEL_USUAL), count,
		text_plural(count, "stack", "stacks"));
	for (size_t i = 0; i < shown; i++) {
		snprintf(text, sizeof(text), "%zu.%zu", number, i + 1);
		text_stack_put(page, text, &page->r->snapshot->stacks[members[i]]);
	}
	if (shown < count)
		fprintf(page->out, "\n    ... and %zu more %s of #%zu (-v)\n", count - shown,
			text_plural(count - shown, "stack", "stacks"), number);
}

void text_put_row(FILE *out, const struct export_options *options, const struct report *r,
		  size_t number, const struct stack *row)
{
	const struct text_page page = {.out = out, .options = options, .r = r};
	const size_t *members;
	size_t count = report_row_stacks(r->rows, row, &members);

	/* With --sort alloc what has been freed counts as well. */
	if (count == 1 || (row->live.count && text_live_stacks(r, members, count) == 1 &&
			   r->snapshot->stacks[*members].alloc.count == row->alloc.count))
		text_put_stack(out, options, r, number, &r->snapshot->stacks[*members]);
	else
		text_put_several(&page, number, row, members, count);
}

void text_put_rows(FILE *out, const struct export_options *options, const struct report *r,
		   const struct stack *const *shown, size_t shown_count)
{
	for (size_t i = 0; i < shown_count; i++)
		text_put_row(out, options, r, i + 1, shown[i]);
}

void export_put_stack(FILE *out, const struct export_options *options, const struct report *r,
		      const struct stack *stack)
{
	if (r->rows)
		text_put_row(out, options, r, 1, stack);
	else
		text_put_stack(out, options, r, 1, stack);
}
