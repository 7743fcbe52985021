// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What languages' runtimes keep, for people: parts of the heap, kinds of objects, threads, the runtime's own profile. */
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/text_parts.h"

#define WIDTH_BYTES 10
#define WIDTH_COUNT 12
#define WIDTH_STATE 20

/* Without -v: so many lines of each list, and of a sample so many frames. */
#define LINES_SHOWN   12
#define SAMPLES_SHOWN 5
#define FRAMES_SHOWN  4

struct managed_page {
	FILE *out;
	const struct export_options *options;
	const struct managed_heap *heap;
	size_t top;
};

static void managed_heading(const struct managed_page *page, const char *text)
{
	fputc('\n', page->out);
	text_set_style(page->out, page->options, TEXT_BOLD);
	text_put_name(page->out, page->heap->runtime);
	fputs(text, page->out);
	text_set_style(page->out, page->options, TEXT_NONE);
}

/* How many lines of a list are shown. */
static size_t managed_shown(const struct managed_page *page, size_t count, size_t most)
{
	most = page->options->verbose || page->top < most ? page->top : most;
	return count < most ? count : most;
}

static void managed_put_why(const struct managed_page *page)
{
	if (!*page->heap->why)
		return;
	fputs("    ", page->out);
	text_set_style(page->out, page->options, TEXT_WARN);
	text_put_name(page->out, page->heap->why);
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
}

static void managed_put_parts(const struct managed_page *page)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	managed_heading(page, "'s own heap");
	if (*page->heap->version) {
		fputs(" (", page->out);
		text_put_name(page->out, page->heap->version);
		fputc(')', page->out);
	}
	fputs(page->heap->read ? ":\n" : ": not read\n", page->out);
	for (size_t i = 0; i < page->heap->part_count; i++) {
		const struct managed_part *part = &page->heap->parts[i];

		fprintf(page->out, "  %*s %*s  ", WIDTH_BYTES,
			format_bytes(human, part->amount.bytes), WIDTH_COUNT,
			format_grouped(count, part->amount.count));
		text_put_name(page->out, managed_part_text(part->name));
		fputc('\n', page->out);
	}
	managed_put_why(page);
}

static void managed_put_kinds(const struct managed_page *page)
{
	const struct managed_heap *heap = page->heap;
	size_t shown = managed_shown(page, heap->kind_count, LINES_SHOWN);
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	struct amount all = {0}, listed = {0};
	bool growth = false;

	for (size_t i = 0; i < heap->kind_count; i++) {
		amount_add(&all, &heap->kinds[i].live);
		growth |= heap->kinds[i].growth_known;
	}
	if (!heap->kind_count)
		return;
	managed_heading(page, "'s objects, by type:\n");
	fprintf(page->out, "  %*s %7s %*s", WIDTH_BYTES, "bytes", "share", WIDTH_COUNT, "objects");
	if (growth)
		fprintf(page->out, " %*s", WIDTH_BYTES + 2, "growth");
	fputc('\n', page->out);
	for (size_t i = 0; i < shown; i++) {
		const struct managed_kind *kind = &heap->kinds[i];

		amount_add(&listed, &kind->live);
		fprintf(page->out, "  %*s %5.1f %% %*s", WIDTH_BYTES,
			format_bytes(human, kind->live.bytes),
			all.bytes ? 100.0 * (double)kind->live.bytes / (double)all.bytes : 0,
			WIDTH_COUNT, format_grouped(count, kind->live.count));
		if (growth)
			fprintf(page->out, " %*s/s", WIDTH_BYTES,
				kind->growth_known
					? format_bytes_signed(
						  human, saturate_i64(kind->growth_bytes_per_s))
					: "?");
		fputs("  ", page->out);
		text_put_folded(page->out, page->options, kind->name);
		fputc('\n', page->out);
	}
	if (shown < heap->kind_count)
		fprintf(page->out, "  %*s %5.1f %% %*s  %zu more kinds (-v)\n", WIDTH_BYTES,
			format_bytes(human, all.bytes - listed.bytes),
			all.bytes ? 100.0 * (double)(all.bytes - listed.bytes) / (double)all.bytes
				  : 0,
			WIDTH_COUNT, format_grouped(count, all.count - listed.count),
			heap->kind_count - shown);
}

static void managed_put_thread(const struct managed_page *page, const struct managed_threads *t)
{
	char count[FORMAT_GROUPED_MAX];
	FILE *out = page->out;

	fprintf(out, "  %*s  ", WIDTH_BYTES, format_grouped(count, t->count));
	if (t->growth_known && t->growth_per_s != 0)
		fprintf(out, "(%+.1f/s)  ", t->growth_per_s);
	text_put_name(out, t->state);
	for (size_t len = strlen(t->state); len < WIDTH_STATE; len++)
		fputc(' ', out);
	fputc(' ', out);
	text_put_folded(out, page->options, t->at ?: "at a place that is not known");
	if (t->created) {
		fputs("\n             created by ", out);
		text_put_folded(out, page->options, t->created);
	}
	fputc('\n', out);
}

static void managed_put_threads(const struct managed_page *page)
{
	const struct managed_heap *heap = page->heap;
	size_t most = managed_shown(page, SIZE_MAX, LINES_SHOWN), shown = 0, left = 0;
	char count[FORMAT_GROUPED_MAX];
	uint64_t own = 0, others = 0;

	for (size_t i = 0; i < heap->thread_group_count; i++)
		own += heap->threads[i].own ? heap->threads[i].count : 0;
	if (!heap->thread_group_count)
		return;
	managed_heading(page, "'s goroutines: ");
	fputs(format_grouped(count, heap->thread_count), page->out);
	fprintf(page->out, ", and %s of the runtime's own\n", format_grouped(count, own));
	for (size_t i = 0; i < heap->thread_group_count; i++) {
		const struct managed_threads *t = &heap->threads[i];

		if (t->own && !page->options->verbose)
			continue;
		if (shown == most) {
			others += t->count;
			left++;
			continue;
		}
		managed_put_thread(page, t);
		shown++;
	}
	if (left)
		fprintf(page->out, "  %*s  at %zu more places (-v)\n", WIDTH_BYTES,
			format_grouped(count, others), left);
}

/* Of a stack the first frame that is not the allocator's own. */
static size_t managed_first_frame(const struct managed_sample *s)
{
	size_t i = 0;

	while (i < s->frame_count && s->frames[i].function &&
	       (!strncmp(s->frames[i].function, "runtime.", 8) ||
		!strncmp(s->frames[i].function, "internal/runtime/", 17)))
		i++;
	return i < s->frame_count ? i : 0;
}

static void managed_put_sample(const struct managed_page *page, const struct managed_sample *s)
{
	const struct amount live = managed_sample_scaled(page->heap, &s->live);
	size_t first = page->options->verbose ? 0 : managed_first_frame(s), end = s->frame_count;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	FILE *out = page->out;

	fprintf(out, "  %*s in %s", WIDTH_BYTES, format_bytes(human, live.bytes),
		format_grouped(count, live.count));
	fprintf(out, " (%s sampled)\n", format_grouped(count, s->live.count));
	if (!page->options->verbose && end - first > FRAMES_SHOWN)
		end = first + FRAMES_SHOWN;
	for (size_t i = first; i < end; i++) {
		const struct managed_frame *f = &s->frames[i];
		const char *slash = f->file ? strrchr(f->file, '/') : NULL;

		fputs("               ", out);
		text_put_folded(out, page->options, f->function ?: "?");
		if (f->file) {
			fputc(' ', out);
			text_put_name(out, slash ? slash + 1 : f->file);
			fprintf(out, ":%u", f->line);
		}
		fputc('\n', out);
	}
	if (end < s->frame_count)
		fprintf(out, "               … %zu more\n", s->frame_count - end);
}

static void managed_put_samples(const struct managed_page *page)
{
	const struct managed_heap *heap = page->heap;
	size_t live = 0, shown;
	char human[FORMAT_BYTES_MAX];

	while (live < heap->sample_count && heap->samples[live].live.count)
		live++;
	shown = managed_shown(page, live, SAMPLES_SHOWN);
	if (!live)
		return;
	managed_heading(page, "'s own allocation profile");
	fprintf(page->out, ": 1 sample in %s%s, as of its last collection\n",
		format_bytes(human, heap->sample_bytes),
		heap->sample_known ? "" : " (what is usual; its symbols are not there)");
	for (size_t i = 0; i < shown; i++)
		managed_put_sample(page, &heap->samples[i]);
	if (shown < live)
		fprintf(page->out, "  and %zu more stacks (-v; -f folded, -f pprof)\n",
			live - shown);
}

void inspection_text_put_managed(FILE *out, const struct export_options *options,
				 const struct inspection *inspection, size_t top)
{
	for (size_t i = 0; i < inspection->managed_count; i++) {
		const struct managed_page page = {
			.out = out,
			.options = options,
			.heap = &inspection->managed[i],
			.top = top,
		};

		managed_put_parts(&page);
		managed_put_threads(&page);
		managed_put_kinds(&page);
		managed_put_samples(&page);
	}
}
