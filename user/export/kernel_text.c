// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* -f text of the kernel's memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

#define KERNEL_TEXT_LISTED 5		 /* caches, groups and the like on a line */
#define KERNEL_TEXT_TASKS  4		 /* of a stack */
#define KERNEL_TEXT_SMALL  (1024 * 1024) /* a pool below it has no line of its own */
#define KERNEL_TEXT_GREW   (64 * 1024)	 /* what has grown by less is no news */

struct kernel_page {
	FILE *out;
	const struct export_options *options;
	const struct kernel_report *r;
};

static void kernel_text_put_rate(FILE *out, const struct trend *trend)
{
	char bytes[FORMAT_BYTES_MAX];

	if (trend->kind == TREND_GROWING && trend->growth_known)
		fprintf(out, "%s/min",
			format_bytes_signed(bytes, saturate_i64(trend->growth * 60)));
}

/* ---- pools -------------------------------------------------------------------------------- */

static bool kernel_text_is_small(const struct kernel_size *size)
{
	return size->bytes < KERNEL_TEXT_SMALL && llabs(size->growth) < KERNEL_TEXT_GREW &&
	       size->trend.kind != TREND_GROWING;
}

static void kernel_text_put_pool(const struct kernel_page *page, const struct kernel_pool *pool)
{
	const char *trend = trend_name(pool->size.trend.kind);
	char bytes[FORMAT_BYTES_MAX], growth[FORMAT_BYTES_MAX];

	fprintf(page->out, "%-30s %10s", pool->title, format_bytes(bytes, pool->size.bytes));
	if (pool->size.growth)
		fprintf(page->out, " %12s", format_bytes_signed(growth, pool->size.growth));
	if (trend)
		fprintf(page->out, "  %s", trend);
	if (pool->size.trend.kind == TREND_GROWING)
		fputc(' ', page->out);
	kernel_text_put_rate(page->out, &pool->size.trend);
	fputc('\n', page->out);
}

static void kernel_text_put_pools(const struct kernel_page *page)
{
	const struct kernel_report *r = page->r;
	char bytes[FORMAT_BYTES_MAX];
	const char *before = "";

	for (size_t i = 0; i < r->pool_count; i++) {
		if (!kernel_text_is_small(&r->pools[i].size))
			kernel_text_put_pool(page, &r->pools[i]);
	}
	for (size_t i = 0; i < r->pool_count; i++) {
		const struct kernel_pool *pool = &r->pools[i];

		if (!kernel_text_is_small(&pool->size) || !pool->size.bytes)
			continue;
		fprintf(page->out, "%s%s %s", before, pool->title,
			format_bytes(bytes, pool->size.bytes));
		before = ", ";
	}
	if (*before)
		fputc('\n', page->out);
}

/* ---- lists -------------------------------------------------------------------------------- */

static void kernel_text_put_listed(const struct kernel_page *page, const char *title,
				   size_t *listed, const char *name, const struct kernel_size *size)
{
	char bytes[FORMAT_BYTES_MAX], growth[FORMAT_BYTES_MAX];

	if (!*listed)
		fprintf(page->out, "%-13s", title);
	else
		fputs("; ", page->out);
	text_put_name(page->out, name);
	fprintf(page->out, " %s of %s", format_bytes_signed(growth, size->growth),
		format_bytes(bytes, size->bytes));
	++*listed;
}

/* Lists are in the order of their growth. */
static bool kernel_text_is_listed(const struct kernel_size *size, size_t listed)
{
	return size->growth >= KERNEL_TEXT_GREW && listed < KERNEL_TEXT_LISTED;
}

static void kernel_text_put_caches(const struct kernel_page *page, bool reclaimable,
				   const char *title)
{
	size_t listed = 0;

	for (size_t i = 0; i < page->r->cache_count; i++) {
		const struct kernel_cache *c = &page->r->caches[i];

		if (c->reclaimable == reclaimable && kernel_text_is_listed(&c->size, listed))
			kernel_text_put_listed(page, title, &listed, c->name, &c->size);
	}
	if (listed)
		fputc('\n', page->out);
}

static void kernel_text_put_callers(const struct kernel_page *page, const char *title,
				    const struct kernel_caller *callers, size_t count)
{
	size_t listed = 0;

	for (size_t i = 0; i < count && kernel_text_is_listed(&callers[i].size, listed); i++) {
		const struct kernel_caller *c = &callers[i];
		char name[320];

		if (c->file)
			snprintf(name, sizeof(name), "%s (%s:%u)", c->function, c->file, c->line);
		else
			snprintf(name, sizeof(name), "%s", c->function);
		kernel_text_put_listed(page, title, &listed, name, &c->size);
	}
	if (listed)
		fputc('\n', page->out);
}

static void kernel_text_put_groups(const struct kernel_page *page)
{
	size_t listed = 0;

	for (size_t i = 0; i < page->r->group_count; i++) {
		const struct kernel_group *g = &page->r->groups[i];

		if (kernel_text_is_listed(&g->size, listed))
			kernel_text_put_listed(page, "by group:", &listed, g->path, &g->size);
	}
	if (listed)
		fputc('\n', page->out);
}

/* ---- a stack ------------------------------------------------------------------------------ */

/* A merged cache has the name of whichever came first: the others are as likely. */
static void kernel_text_put_cache(const struct kernel_page *page, const struct kernel_stack *s)
{
	const struct kernel_cache *cache = s->cache ? kernel_report_cache(page->r, s->cache) : NULL;
	char grouped[FORMAT_GROUPED_MAX];

	if (!s->cache) {
		fputs(s->kind == KERNEL_PERCPU	? "per-CPU memory"
		      : s->kind == KERNEL_PAGES ? (s->in_slab ? "slab pages" : "pages")
						: "areas of addresses",
		      page->out);
		return;
	}
	text_put_name(page->out, s->cache);
	if (cache && cache->alias_count > 1)
		fprintf(page->out, " and %zu more of %s B", cache->alias_count - 1,
			format_grouped(grouped, cache->object_bytes));
	if (s->reclaimable)
		fputs(": a cache, the kernel takes it back when memory is short", page->out);
}

static void kernel_text_put_title(const struct kernel_page *page, const struct kernel_stack *s,
				  size_t number)
{
	char bytes[FORMAT_BYTES_MAX], error[FORMAT_BYTES_MAX], grouped[FORMAT_GROUPED_MAX],
		age[FORMAT_DURATION_MAX];

	text_set_style(page->out, page->options, TEXT_BOLD);
	fprintf(page->out, "\n#%zu  %s", number, format_bytes(bytes, s->bytes));
	if (page->r->books->sample_bytes)
		fprintf(page->out, " (est. ±%s)", format_bytes(error, s->error_bytes));
	fprintf(page->out, " in %s %s", format_grouped(grouped, s->blocks),
		text_plural(s->blocks, "block", "blocks"));
	if (s->trend.kind == TREND_GROWING) {
		fputs(", ", page->out);
		kernel_text_put_rate(page->out, &s->trend);
	}
	fprintf(page->out, ", oldest %s   ", format_duration(age, s->oldest_ns));
	kernel_text_put_cache(page, s);
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
}

static void kernel_text_put_tasks(const struct kernel_page *page, const struct kernel_stack *s)
{
	fputs("    for ", page->out);
	if (s->interrupt)
		fputs("interrupts, whoever ran", page->out);
	for (size_t i = 0; !s->interrupt && i < s->task_count && i < KERNEL_TEXT_TASKS; i++) {
		const struct kernel_task *task = &s->tasks[i];

		fputs(i ? ", " : "", page->out);
		text_put_name(page->out, task->comm);
		fprintf(page->out, "[%u]", task->pid);
		if (s->task_count > 1 && s->bytes)
			fprintf(page->out, " %.1f %%",
				100 * (double)task->bytes / (double)s->bytes);
	}
	if (!s->interrupt && s->task_all > KERNEL_TEXT_TASKS)
		fprintf(page->out, " and %zu more", s->task_all - KERNEL_TEXT_TASKS);
	if (s->group) {
		fputs("   control group ", page->out);
		text_put_name(page->out, s->group);
	}
	fputc('\n', page->out);
}

static void kernel_text_put_frames(const struct kernel_page *page, const struct kernel_stack *s)
{
	if (!s->frame_count)
		fprintf(page->out, "    %s\n", STACK_UNKNOWN_LABEL);
	for (size_t i = 0; i < s->frame_count; i++) {
		const struct kernel_frame *frame = &s->frames[i];

		if (frame->function) {
			fputs("    ", page->out);
			text_put_name(page->out, frame->function);
			fprintf(page->out, "+0x%" PRIx64, frame->offset);
		} else {
			fprintf(page->out, "    0x%" PRIx64, frame->address);
		}
		if (frame->module) {
			fputs(" [", page->out);
			text_put_name(page->out, frame->module);
			fputc(']', page->out);
		}
		fputc('\n', page->out);
	}
}

static void kernel_text_put_companions(const struct kernel_page *page, size_t index)
{
	const struct kernel_books *books = page->r->books;
	char grouped[FORMAT_GROUPED_MAX];
	const char *before = "  with each: ";

	for (size_t i = index + 1; i < books->stack_count; i++) {
		const struct kernel_stack *s = &books->stacks[i];

		if (s->with != index + 1)
			continue;
		fputs(before, page->out);
		text_put_name(page->out, s->cache ? s->cache : kernel_kind_name(s->kind));
		fprintf(page->out, " %s B",
			format_grouped(grouped, s->kind == KERNEL_SLAB ? s->object_bytes
						: s->blocks	       ? s->bytes / s->blocks
								       : 0));
		before = ", ";
	}
	if (books->stacks[index].companions)
		fputc('\n', page->out);
}

/* ---- what the books lack ------------------------------------------------------------------ */

/* The first row of a cache speaks for all of them. */
static bool kernel_text_is_first(const struct kernel_books *books, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (books->stacks[i].frees_unseen &&
		    !strcmp(books->stacks[i].cache, books->stacks[index].cache))
			return false;
	}
	return true;
}

static void kernel_text_put_distrusted(const struct kernel_page *page)
{
	const struct kernel_books *books = page->r->books;
	char blocks[FORMAT_GROUPED_MAX];

	for (size_t i = 0; i < books->stack_count; i++) {
		const struct kernel_stack *s = &books->stacks[i];
		const struct kernel_cache *cache;
		uint64_t sum = 0;

		if (!s->frees_unseen || !kernel_text_is_first(books, i))
			continue;
		for (size_t j = i; j < books->stack_count; j++) {
			if (books->stacks[j].frees_unseen &&
			    !strcmp(books->stacks[j].cache, s->cache))
				sum += books->stacks[j].blocks;
		}
		fputs("not shown: ", page->out);
		text_put_name(page->out, s->cache);
		fprintf(page->out, ", %s blocks", format_grouped(blocks, sum));
		cache = kernel_report_cache(page->r, s->cache);
		if (cache)
			fprintf(page->out, "; the kernel counts %+" PRId64, cache->growth_blocks);
		fputs(", so not all frees were seen\n", page->out);
	}
}

static void kernel_text_put_state(const struct kernel_page *page)
{
	static const char *const texts[KERNEL_LOST_CAUSES] = {
		[KERNEL_LOST_RECURSION] = "events were not seen, as they interrupted another one",
		[KERNEL_LOST_LIVE_FULL] = "blocks had no room: give a larger -s",
		[KERNEL_LOST_STACKS_FULL] = "blocks have no stack: there are too many stacks",
		[KERNEL_LOST_BUSY] = "blocks were not recorded, as a table was locked",
	};
	const struct kernel_books *books = page->r->books;
	char grouped[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX], age[FORMAT_DURATION_MAX];

	for (size_t i = 0; i < KERNEL_LOST_CAUSES; i++) {
		if (books->lost[i])
			fprintf(page->out, "%s %s\n", format_grouped(grouped, books->lost[i]),
				texts[i]);
	}
	if (books->stopped)
		fprintf(page->out, "the probes were taken out after %s: %s",
			format_duration(age, books->elapsed_ns), books->stopped);
	else if (books->sample_bytes)
		fprintf(page->out, "probes for %s, one sample per %s",
			format_duration(age, books->elapsed_ns),
			format_bytes(bytes, books->sample_bytes));
	else
		fprintf(page->out, "probes for %s, every allocation",
			format_duration(age, books->elapsed_ns));
	if (books->cpu_share >= 0)
		fprintf(page->out, ": %.2f %% of a CPU", 100 * books->cpu_share);
	fputc('\n', page->out);
}

static void kernel_text_put_books(const struct kernel_page *page)
{
	const struct kernel_books *books = page->r->books;
	size_t shown = 0, rows = 0;

	for (size_t i = 0; i < books->stack_count; i++) {
		const struct kernel_stack *s = &books->stacks[i];

		if (s->with || s->frees_unseen)
			continue;
		rows++;
		if (shown >= page->r->top)
			continue;
		kernel_text_put_title(page, s, ++shown);
		kernel_text_put_tasks(page, s);
		kernel_text_put_frames(page, s);
		kernel_text_put_companions(page, i);
	}
	fputc('\n', page->out);
	if (!rows)
		fputs("nothing is held of what was allocated since\n", page->out);
	if (rows > shown)
		fprintf(page->out, "and %zu %s (-T)\n", rows - shown,
			text_plural(rows - shown, "stack more", "stacks more"));
	kernel_text_put_distrusted(page);
	kernel_text_put_state(page);
}

/* ---- the page ----------------------------------------------------------------------------- */

static void kernel_text_put_page(const struct kernel_page *page)
{
	const struct kernel_report *r = page->r;
	char when[TEXT_TIME_MAX], elapsed[FORMAT_DURATION_MAX];

	text_set_style(page->out, page->options, TEXT_BOLD);
	fprintf(page->out, "=== %s  kernel of ", text_time(when, r->time_ns));
	text_put_name(page->out, r->host);
	fputs(" (", page->out);
	text_put_name(page->out, r->release);
	fprintf(page->out, ")  %s  %s===\n", format_duration(elapsed, r->elapsed_ns),
		r->final ? "FINAL " : "");
	text_set_style(page->out, page->options, TEXT_NONE);
	for (size_t i = 0; i < r->missing.count; i++)
		fprintf(page->out, "%s (%s)\n", r->missing.parts[i].costs, r->missing.parts[i].why);
	kernel_text_put_pools(page);
	kernel_text_put_caches(page, false, "by cache:");
	kernel_text_put_caches(page, true, "reclaimable:");
	kernel_text_put_callers(page, "by area:", r->areas, r->area_count);
	kernel_text_put_callers(page, "by line:", r->sites, r->site_count);
	kernel_text_put_groups(page);
	if (r->books)
		kernel_text_put_books(page);
	fputc('\n', page->out);
}

int kernel_write_text(struct exporter *e, const struct kernel_report *report)
{
	struct kernel_page page = {.options = &e->options, .r = report};
	char *text = NULL;
	size_t len = 0;
	int err;

	page.out = open_memstream(&text, &len);
	if (!page.out)
		return -ENOMEM;
	kernel_text_put_page(&page);
	err = close_memstream(page.out) ?: exporter_write(e, text, len);
	free(text);
	return err;
}
