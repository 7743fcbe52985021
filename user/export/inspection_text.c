// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An inspection for people: where the memory is, what is lost, what the heap is made of. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

#define WIDTH_BYTES 10
#define WIDTH_COUNT 12
#define PATH_WIDTH  90
/* Steps of a path: of the first ones two are shown, and the last one. */
#define STEPS_READ  64
#define STEPS_FIRST 2

/* Of which it is said what holds them. */
#define GROUPS_SHARE 50

#define INSPECTION_HELD_BY "             held by "

/* Of a group without -v: so many of what holds it, if they hold such a part. */
#define HOLDERS_SHOWN 3
#define HOLDERS_SHARE 20

/* Without -v: the largest mappings, and only those that take some part of the whole. */
#define MAPPINGS_SHOWN 5
#define MAPPINGS_SHARE 100

struct inspection_page {
	FILE *out;
	const struct export_options *options;
	const struct inspection *i;
	size_t top;
};

static void inspection_text_heading(const struct inspection_page *page, const char *text)
{
	fputc('\n', page->out);
	text_set_style(page->out, page->options, TEXT_BOLD);
	fputs(text, page->out);
	text_set_style(page->out, page->options, TEXT_NONE);
}

/* "    1.1 GiB  91.3 %" */
static void inspection_text_put_share(FILE *out, uint64_t bytes, uint64_t all)
{
	char human[FORMAT_BYTES_MAX];

	fprintf(out, "  %*s %5.1f %%", WIDTH_BYTES, format_bytes(human, bytes),
		all ? 100.0 * (double)bytes / (double)all : 0);
}

static void inspection_text_put_head(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	char comm[sizeof(i->comm) + 1], when[TEXT_TIME_MAX], elapsed[FORMAT_DURATION_MAX];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(i->comm), i->comm);
	text_set_style(page->out, page->options, TEXT_BOLD);
	fprintf(page->out, "=== %s  PID %d (", text_time(when, i->time_ns), (int)i->pid);
	text_put_name(page->out, *comm ? comm : "?");
	fputc(')', page->out);
	if (i->traced)
		fputs("  the whole heap", page->out);
	if (i->core) {
		fputs("  from ", page->out);
		text_put_name(page->out, i->core);
	} else if (i->elapsed_ns) {
		fprintf(page->out, "  %s since the first look",
			format_duration(elapsed, i->elapsed_ns));
	}
	fputs(" ===", page->out);
	text_set_style(page->out, page->options, TEXT_NONE);
	fputc('\n', page->out);
	/* The snapshot of the same copy has said it. */
	if (!i->core && !i->traced)
		fprintf(page->out, "stood still for %.1f ms\n",
			(double)i->verdict.pause_ns / NS_PER_MS);
}

static void inspection_text_put_caveats(const struct inspection_page *page)
{
	const struct verdict *v = &page->i->verdict;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (v->approximate)
		fputs("note   some of the memory was read while it ran, as it may not stand still "
		      "for longer (--max-pause)\n",
		      page->out);
	if (v->unread_bytes)
		fprintf(page->out,
			"note   %s could not be read: what only it points to counts as lost\n",
			format_bytes(human, v->unread_bytes));
	if (page->i->no_registers)
		fputs("note   it has no registers of threads: what only they hold counts as lost\n",
		      page->out);
	if (page->i->unknown_threads)
		fprintf(page->out,
			"note   the registers of %s of its threads are not known: what only they "
			"hold counts as lost\n",
			format_grouped(count, page->i->unknown_threads));
}

/* A line of a path, and how often it comes in a row. */
struct inspection_step {
	const char *line;
	size_t len, times;
};

/* Of what lists are made of each line would be the same. Returns how many there are. */
static size_t inspection_text_steps(const char *path, struct inspection_step *steps, size_t most)
{
	size_t count = 0;

	while (path && count < most) {
		struct inspection_step *step = &steps[count++];

		*step = (struct inspection_step){path, strcspn(path, "\n"), 0};
		while (path && strcspn(path, "\n") == step->len &&
		       !memcmp(path, step->line, step->len)) {
			path = path[step->len] ? path + step->len + 1 : NULL;
			step->times++;
		}
	}
	return count;
}

/*
 * "list (shop) -> a block of 56 B, 5 times -> …": the owner is at the beginning, and what holds the block at
 * the end. The names in it are the process's own.
 */
static void inspection_text_put_held_by(const struct inspection_page *page, const char *before,
					const char *path)
{
	struct inspection_step steps[STEPS_READ];
	size_t count = inspection_text_steps(path, steps, STEPS_READ), column = 0;
	const char *separator = before;
	FILE *out = page->out;

	for (size_t i = 0; i < count; i++) {
		char *name = strndup(steps[i].line, steps[i].len);

		if (!page->options->verbose && i == STEPS_FIRST && count > STEPS_FIRST + 2) {
			fputs(" -> …", out);
			i = count - 2;
		} else {
			size_t wide = text_put_folded(NULL, page->options, name ? name : "?");

			if (column && column + wide > PATH_WIDTH) {
				fputs("\n             ", out);
				column = 0;
			}
			column += (size_t)fprintf(out, "%s", separator);
			column += text_put_folded(out, page->options, name ? name : "?");
			if (steps[i].times > 1)
				column += (size_t)fprintf(out, ", %zu times", steps[i].times);
		}
		separator = " -> ";
		free(name);
	}
	fputc('\n', out);
}

/* ---- where it is -------------------------------------------------------------------------- */

static uint64_t inspection_blocks(const struct inspection *i)
{
	uint64_t count = 0;

	for (int class = 0; class < VERDICT_CLASSES; class ++)
		count += i->verdict.classes[class].count;
	return count;
}

/* What it is known to have. */
static void inspection_text_put_amounts(FILE *out, const struct inspected_allocator *a)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, ": %s in %s %s", format_bytes(human, a->in_use.bytes),
		format_grouped(count, a->in_use.count),
		text_plural(a->in_use.count, "block", "blocks"));
	fprintf(out, ", %s free in memory", format_bytes(human, a->free_resident));
	if (a->free_whole_pages)
		fprintf(out, " (%s of it whole pages)", format_bytes(human, a->free_whole_pages));
	if (a->dirty_resident)
		fprintf(out, ", %s of it dirty", format_bytes(human, a->dirty_resident));
	if (a->muzzy_resident)
		fprintf(out, ", %s of it muzzy", format_bytes(human, a->muzzy_resident));
	if (a->cached_bytes)
		fprintf(out, ", %s in caches", format_bytes(human, a->cached_bytes));
	if (a->arenas)
		fprintf(out, ", %s %s", format_grouped(count, a->arenas),
			text_plural(a->arenas, "arena", "arenas"));
}

static void inspection_text_put_allocator(const struct inspection_page *page,
					  const struct inspected_allocator *a)
{
	char human[FORMAT_BYTES_MAX];
	FILE *out = page->out;
	bool known = a->in_use.count || a->free_bytes || a->books_bytes;

	fputs("  ", out);
	text_put_name(out, a->name);
	if (*a->version) {
		fputc(' ', out);
		text_put_name(out, a->version);
	}
	if (known || !*a->why)
		inspection_text_put_amounts(out, a);
	if (!*a->why) {
		fputc('\n', out);
		return;
	}
	fputs(known ? "\n    " : ": ", out);
	text_set_style(out, page->options, TEXT_WARN);
	/* One that is known by its name alone has nothing that could be found. */
	if (a->unbelieved_bytes && known)
		fprintf(out,
			"%s of it is not believed: ", format_bytes(human, a->unbelieved_bytes));
	else if (a->unbelieved_bytes)
		fprintf(out, "%s in memory; ", format_bytes(human, a->unbelieved_resident));
	text_put_name(out, a->why);
	text_set_style(out, page->options, TEXT_NONE);
	fputc('\n', out);
}

static void inspection_text_put_mapping(const struct inspection_page *page,
					const struct inspected_mapping *m)
{
	char resident[FORMAT_BYTES_MAX], bytes[FORMAT_BYTES_MAX];

	fprintf(page->out, "  %*s of %s at 0x%" PRIx64, WIDTH_BYTES,
		format_bytes(resident, m->resident), format_bytes(bytes, m->bytes), m->start);
	if (m->name) {
		fputs(", ", page->out);
		text_put_name(page->out, m->name);
	}
	fputc('\n', page->out);
	if (m->held_by)
		inspection_text_put_held_by(page, INSPECTION_HELD_BY, m->held_by);
}

static void inspection_text_put_mappings(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	uint64_t all = i->rss_anon + i->swap;
	size_t most = page->options->verbose ? page->top : MAPPINGS_SHOWN;
	const char *heading = "  mappings of no allocator, the largest first:\n";

	for (size_t n = 0; n < i->mapping_count && n < most; n++) {
		if (!page->options->verbose && i->mappings[n].resident < all / MAPPINGS_SHARE)
			break;
		fputs(heading, page->out);
		heading = "";
		inspection_text_put_mapping(page, &i->mappings[n]);
	}
}

/* ": 5,755 blocks, 92,000 objects of Go" */
static void inspection_text_put_in_use(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	char count[FORMAT_GROUPED_MAX];

	fprintf(page->out, ": %s blocks", format_grouped(count, inspection_blocks(i)));
	for (size_t n = 0; n < i->managed_count; n++) {
		const struct managed_part *objects = managed_heap_part(&i->managed[n], "objects");

		if (!objects)
			continue;
		fprintf(page->out, ", %s objects of ",
			format_grouped(count, objects->amount.count));
		text_put_name(page->out, i->managed[n].runtime);
	}
}

static void inspection_text_put_where(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	uint64_t all = i->rss_anon + i->swap;
	char human[FORMAT_BYTES_MAX];
	FILE *out = page->out;

	inspection_text_heading(page, "Where its memory is: ");
	fprintf(out, "%s", format_bytes(human, all));
	if (i->swap)
		fprintf(out, ", %s of it swapped out", format_bytes(human, i->swap));
	if (i->shmem)
		fprintf(out, "; shared memory, not looked at: %s", format_bytes(human, i->shmem));
	fputc('\n', out);
	for (int part = 0; part < MEMORY_PARTS; part++) {
		if (!i->parts[part])
			continue;
		inspection_text_put_share(out, i->parts[part], all);
		fprintf(out, "  %s", memory_part_text((enum memory_part)part));
		if (part == MEMORY_IN_USE)
			inspection_text_put_in_use(page);
		fputc('\n', out);
	}
	for (size_t n = 0; n < i->allocator_count; n++)
		inspection_text_put_allocator(page, &i->allocators[n]);
	if (!i->allocator_count)
		fputs("  no allocator is known to it: none of its blocks are seen\n", out);
	inspection_text_put_mappings(page);
}

/* ---- what is lost, what it is made of ----------------------------------------------------- */

static void inspection_text_put_label(const struct inspection_page *page,
				      const struct inspected_group *g)
{
	FILE *out = page->out;
	char *label = inspected_group_label(g);

	text_put_folded(out, page->options, label ? label : "?");
	free(label);
	if (!g->module)
		return;
	fputs(" (", out);
	text_put_name(out, g->module);
	fputc(')', out);
}

/* ", from make_node", or ", 3 of them from make_node". */
static void inspection_text_put_losers(const struct inspection_page *page,
				       const struct inspected_loss *loss)
{
	FILE *out = page->out;
	const struct inspected_origin *o = &loss->origin;
	char count[FORMAT_GROUPED_MAX];

	if (!o->function)
		return;
	fputs(", ", out);
	if (o->most.count < loss->lost.count)
		fprintf(out, "%s of them ", format_grouped(count, o->most.count));
	fputs("from ", out);
	text_put_folded(out, page->options, o->function);
}

/* "since the attach: 1,000 of 1,200 blocks, 900 of them from make_node" */
static void inspection_text_put_origin(const struct inspection_page *page,
				       const struct inspected_group *g)
{
	FILE *out = page->out;
	const struct inspected_origin *o = &g->origin;
	char count[FORMAT_GROUPED_MAX];

	if (!o->traced.count)
		return;
	fprintf(out, "             since the attach: %s", format_grouped(count, o->traced.count));
	if (o->traced.count < g->live.count)
		fprintf(out, " of %s", format_grouped(count, g->live.count));
	fprintf(out, " %s", text_plural(g->live.count, "block", "blocks"));
	if (o->function) {
		fputs(", ", out);
		if (o->most.count < o->traced.count)
			fprintf(out, "%s of them ", format_grouped(count, o->most.count));
		fputs("from ", out);
		text_put_folded(out, page->options, o->function);
	}
	fputc('\n', out);
}

static void inspection_text_put_lost(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	struct amount classes[VERDICT_CLASSES];
	size_t shown = i->loss_count < page->top ? i->loss_count : page->top;
	FILE *out = page->out;

	inspection_text_heading(page, "What is lost: ");
	memcpy(classes, i->verdict.classes, sizeof(classes));
	classes[VERDICT_DEFINITE] = inspection_leaks(i);
	if (inspection_blocks(i))
		text_put_classes(out, classes);
	else
		fputs("not known, for none of its blocks are seen", out);
	fputc('\n', out);
	for (size_t n = 0; n < shown; n++) {
		const struct inspected_loss *loss = &i->losses[n];
		const struct inspected_group *g = &i->groups[loss->group];

		fprintf(out, "  %*s in %s %s: ", WIDTH_BYTES,
			format_bytes(human, loss->lost.bytes + loss->kept.bytes),
			format_grouped(count, loss->lost.count + loss->kept.count),
			text_plural(loss->lost.count + loss->kept.count, "block", "blocks"));
		if (loss->kept.count)
			fprintf(out, "%s of ", format_grouped(count, loss->lost.count));
		inspection_text_put_label(page, g);
		inspection_text_put_losers(page, loss);
		if (loss->kept.count)
			fprintf(out, "; %s in %s %s on %s", format_bytes(human, loss->kept.bytes),
				format_grouped(count, loss->kept.count),
				text_plural(loss->kept.count, "block hangs", "blocks hang"),
				text_plural(loss->lost.count, "it", "them"));
		if (inspected_group_suppressed(g))
			fprintf(out, "; suppressed: %s  (built in)", inspected_group_suppressed(g));
		fputc('\n', out);
		text_put_contents(out, g->contents, g->contents_len);
	}
	if (shown < i->loss_count)
		fprintf(out, "  and %zu more kinds (-T)\n", i->loss_count - shown);
	if (i->verdict.unjoined.count) {
		fputs("  ", out);
		text_put_unjoined(out, &i->verdict.unjoined);
	}
	if (i->verdict.unknown_bytes)
		fprintf(out,
			"  %s are no blocks that are known: what they point to counts as "
			"reachable\n",
			format_bytes(human, i->verdict.unknown_bytes));
}

/* Those that hold a good part of it; of one that holds nearly all no bytes are said. */
static void inspection_text_put_holders(const struct inspection_page *page,
					const struct inspected_group *g)
{
	size_t most = page->options->verbose ? g->holder_count : HOLDERS_SHOWN;

	for (size_t n = 0; n < g->holder_count && n < most; n++) {
		const struct inspected_holder *holder = &g->holders[n];
		char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], before[160];

		if (!n && holder->held.bytes >= g->live.bytes - g->live.bytes / 100) {
			inspection_text_put_held_by(page, INSPECTION_HELD_BY, holder->path);
			break;
		}
		if (!page->options->verbose && holder->held.bytes < g->live.bytes / HOLDERS_SHARE)
			break;
		snprintf(before, sizeof(before), "%*s in %s held by ", 13 + WIDTH_BYTES,
			 format_bytes(human, holder->held.bytes),
			 format_grouped(count, holder->held.count));
		inspection_text_put_held_by(page, before, holder->path);
	}
}

static void inspection_text_put_group(const struct inspection_page *page,
				      const struct inspected_group *g, uint64_t all, bool growth)
{
	uint64_t lost = g->verdict[VERDICT_DEFINITE].bytes + g->verdict[VERDICT_INDIRECT].bytes;
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	FILE *out = page->out;

	inspection_text_put_share(out, g->live.bytes, all);
	fprintf(out, " %*s", WIDTH_COUNT, format_grouped(count, g->live.count));
	fprintf(out, " %*s", WIDTH_BYTES, lost ? format_bytes(human, lost) : "-");
	if (growth)
		fprintf(out, " %*s/s", WIDTH_BYTES,
			g->growth_known
				? format_bytes_signed(human, saturate_i64(g->growth_bytes_per_s))
				: "?");
	fputs("  ", out);
	inspection_text_put_label(page, g);
	fputc('\n', out);
	inspection_text_put_origin(page, g);
	if (page->options->verbose || g->live.bytes >= all / GROUPS_SHARE)
		inspection_text_put_holders(page, g);
}

static void inspection_text_put_groups(const struct inspection_page *page)
{
	const struct inspection *i = page->i;
	size_t shown = i->group_count < page->top ? i->group_count : page->top;
	FILE *out = page->out;
	uint64_t all = 0, bytes = 0;
	bool growth = false;

	for (size_t n = 0; n < i->group_count; n++) {
		all += i->groups[n].live.bytes;
		growth |= i->groups[n].growth_known;
	}
	if (!i->group_count)
		return;
	inspection_text_heading(page, "What it is made of:\n");
	fprintf(out, "  %*s %7s %*s %*s", WIDTH_BYTES, "bytes", "share", WIDTH_COUNT, "blocks",
		WIDTH_BYTES, "lost");
	if (growth)
		fprintf(out, " %*s", WIDTH_BYTES + 2, "growth");
	fputc('\n', out);
	for (size_t n = 0; n < shown; n++) {
		inspection_text_put_group(page, &i->groups[n], all, growth);
		bytes += i->groups[n].live.bytes;
	}
	if (shown < i->group_count) {
		inspection_text_put_share(out, all - bytes, all);
		fprintf(out, "  %zu more kinds (-T)\n", i->group_count - shown);
	}
}

int inspection_write_text(struct exporter *e, const struct inspection *inspection, size_t top)
{
	struct inspection_page page = {.options = &e->options, .i = inspection, .top = top};
	char *text = NULL;
	size_t len = 0;
	int err;

	page.out = open_memstream(&text, &len);
	if (!page.out)
		return -ENOMEM;
	inspection_text_put_head(&page);
	text_put_findings(page.out, page.options, inspection->findings);
	inspection_text_put_caveats(&page);
	inspection_text_put_where(&page);
	inspection_text_put_managed(page.out, page.options, page.i, page.top);
	inspection_text_put_keepers(page.out, page.options, page.i, page.top);
	inspection_text_put_lost(&page);
	inspection_text_put_ways(page.out, page.options, page.i, page.top);
	inspection_text_put_groups(&page);
	fputc('\n', page.out);
	err = close_memstream(page.out) ?: text_page_write(e, text, len);
	free(text);
	return err;
}
