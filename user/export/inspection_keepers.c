// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who keeps the free memory of a process, and what would give it back, for people. */
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

/* From such a part of the process on its free memory is worth more than a line; an allocator's, from such a part of it. */
#define FREE_SHARE	10
#define ALLOCATOR_SHARE 20

/* Without -v: so many kinds, and so many stacks, of those that keep such a part. */
#define KEEPERS_SHOWN 5
#define KEEPERS_SHARE 20

struct keepers_page {
	FILE *out;
	const struct export_options *options;
	const struct inspection *i;
	size_t top;
};

/* ---- what keeps it ------------------------------------------------------------------------ */

/* One group stands for all blocks of its size. `count`: of so many of it. */
static void keepers_put_label(const struct keepers_page *p, size_t group, uint64_t count)
{
	const struct inspected_group *g = &p->i->groups[group];
	char human[FORMAT_BYTES_MAX], *label;

	if (g->kind == GROUP_SIZE && g->size) {
		fprintf(p->out, "%s of %s", text_plural(count, "block", "blocks"),
			format_bytes(human, g->size));
		return;
	}
	label = inspected_group_label(g);
	text_put_folded(p->out, p->options, label ? label : "?");
	free(label);
}

static void keepers_put_who(const struct keepers_page *p, const struct inspected_keeper *k)
{
	char count[FORMAT_GROUPED_MAX], age[FORMAT_DURATION_MAX];

	fprintf(p->out, "%s ", format_grouped(count, k->blocks));
	if (k->group != SIZE_MAX) {
		keepers_put_label(p, k->group, k->blocks);
		return;
	}
	fprintf(p->out, "%s from ", text_plural(k->blocks, "block", "blocks"));
	if (k->function)
		text_put_folded(p->out, p->options, k->function);
	else
		fputs(k->stack_id ? "a stack without names" : "before the attach", p->out);
	if (k->stack_id)
		fprintf(p->out, ", the oldest of %s",
			format_duration(age, k->oldest_ms * NS_PER_MS));
}

/* What really goes back with them. */
static void keepers_put_alone(const struct keepers_page *p, const struct inspected_keeper *k)
{
	char human[FORMAT_BYTES_MAX];

	if (k->alone >= k->kept - k->kept / 100) {
		fputs("; all of it by them alone", p->out);
		return;
	}
	if (k->alone >= k->kept / 100)
		fprintf(p->out, "; %s by them alone", format_bytes(human, k->alone));
	else
		fputs("; none by them alone", p->out);
	if (k->with != SIZE_MAX) {
		fputs(": with ", p->out);
		keepers_put_label(p, k->with, 0);
	}
}

static void keepers_put_list(const struct keepers_page *p, size_t allocator, bool stacks)
{
	const uint64_t all = p->i->allocators[allocator].kept_resident;
	const size_t most = p->options->verbose ? p->top : KEEPERS_SHOWN;
	char human[FORMAT_BYTES_MAX];
	uint64_t rest = all;
	size_t shown = 0;

	for (size_t n = 0; n < p->i->keeper_count; n++) {
		const struct inspected_keeper *k = &p->i->keepers[n];

		if (k->allocator != allocator || (k->group == SIZE_MAX) != stacks)
			continue;
		if (shown == most ||
		    (!p->options->verbose && shown && k->kept < all / KEEPERS_SHARE))
			break;
		if (!shown++ && stacks)
			fputs("    by who asked for these blocks:\n", p->out);
		fprintf(p->out, "    %10s  ", format_bytes(human, k->kept));
		keepers_put_who(p, k);
		keepers_put_alone(p, k);
		fputc('\n', p->out);
		rest -= k->kept < rest ? k->kept : rest;
	}
	if (shown && rest)
		fprintf(p->out, "    %10s  others\n", format_bytes(human, rest));
}

/* Are they worth a list? */
static bool keepers_are_many(const struct keepers_page *p, const struct inspected_allocator *a)
{
	return a->kept_resident &&
	       (p->options->verbose || a->kept_resident >= a->free_resident / ALLOCATOR_SHARE);
}

static void keepers_put_units(const struct keepers_page *p, const struct inspected_allocator *a)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], all[FORMAT_GROUPED_MAX];
	FILE *out = p->out;

	fprintf(out, ": of %s that is free ", format_bytes(human, a->free_resident));
	fprintf(out, "%s lies with blocks in %s", format_bytes(human, a->kept_resident),
		format_grouped(count, a->kept_units));
	if (a->units)
		fprintf(out, " of %s", format_grouped(all, a->units));
	fprintf(out, " %s%s", *a->unit ? a->unit : "page",
		(a->units ? a->units : a->kept_units) == 1 ? "" : "s");
	if (a->cached_resident)
		fprintf(out, ", %s is kept by caches alone",
			format_bytes(human, a->cached_resident));
	if (a->untold_resident)
		fprintf(out, ", of %s it cannot be told", format_bytes(human, a->untold_resident));
	fputc('\n', out);
}

/* ---- what would help ---------------------------------------------------------------------- */

static void keepers_put_trim(const struct keepers_page *p, const struct inspected_help *h)
{
	char human[FORMAT_BYTES_MAX], exact[FORMAT_GROUPED_MAX];

	fprintf(p->out, "malloc_trim(0): %s%s", h->exact ? "" : "about ",
		format_bytes(human, h->bytes));
	if (h->exact && h->bytes >= 1 << 20)
		fprintf(p->out, ", which is %s KiB", format_grouped(exact, h->bytes >> 10));
	if (h->bytes && h->top)
		fprintf(p->out, ", %s of it at the top", format_bytes(human, h->top));
	if (h->left)
		fprintf(p->out, "; it leaves %s at the tops of other arenas",
			format_bytes(human, h->left));
}

static void keepers_put_help(const struct keepers_page *p, const struct inspected_help *h)
{
	char human[FORMAT_BYTES_MAX], threshold[FORMAT_BYTES_MAX];
	FILE *out = p->out;

	format_bytes(human, h->bytes);
	switch (h->kind) {
	case HELP_MALLOC_TRIM:
		keepers_put_trim(p, h);
		return;
	case HELP_ARENA_MAX:
		fprintf(out,
			"MALLOC_ARENA_MAX=1 from the start on: %s at most, as other arenas "
			"have it free",
			human);
		return;
	case HELP_MMAP_THRESHOLD:
		fprintf(out,
			"MALLOC_MMAP_THRESHOLD_=131072: %s at most; a buffer of %s that was freed "
			"has raised it, and smaller ones stay in the heap",
			human, format_bytes(threshold, h->mmap_threshold));
		return;
	case HELP_PURGE:
		fprintf(out,
			"a purge (arena.<i>.purge; MEMORY PURGE of Redis), or time: %s of "
			"dirty and muzzy pages",
			human);
		return;
	case HELP_FLUSH:
		fprintf(out, "thread.tcache.flush in each thread, then a purge: %s at most", human);
		return;
	case HELP_RELEASE:
		fprintf(out, "MallocExtension::ReleaseFreeMemory(): %s", human);
		return;
	case HELP_COLLECT:
		fprintf(out, "mi_collect(true): %s at most", human);
		return;
	case HELP_KINDS:
		return;
	}
}

/* What does nothing needs no line, but for the first: that it does nothing is worth knowing. */
static bool keepers_is_worth(const struct keepers_page *p, const struct inspected_help *h, size_t n)
{
	return p->options->verbose || !n ||
	       h->bytes >= p->i->allocators[h->allocator].free_resident / ALLOCATOR_SHARE;
}

static void keepers_put_helps(const struct keepers_page *p, size_t allocator)
{
	const struct inspected_allocator *a = &p->i->allocators[allocator];
	char human[FORMAT_BYTES_MAX];
	size_t shown = 0;

	for (size_t n = 0; n < p->i->help_count; n++) {
		const struct inspected_help *h = &p->i->helps[n];

		if (h->allocator != allocator || !keepers_is_worth(p, h, shown))
			continue;
		fputs(shown++ ? "                     " : "    What would help: ", p->out);
		keepers_put_help(p, h);
		fputc('\n', p->out);
	}
	if (!keepers_are_many(p, a))
		return;
	fputs(shown ? "                     " : "    What would help: ", p->out);
	fprintf(p->out, "only if the blocks above go, or move: %s\n",
		format_bytes(human, a->kept_resident));
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Where it is little: what there is, and what a call would give. */
static void keepers_put_little(const struct keepers_page *p, uint64_t bytes, uint64_t all)
{
	char human[FORMAT_BYTES_MAX];

	fprintf(p->out, "only %s is free, %.1f %% of it all", format_bytes(human, bytes),
		all ? 100.0 * (double)bytes / (double)all : 0);
	for (size_t n = 0; n < p->i->help_count; n++) {
		const struct inspected_help *h = &p->i->helps[n];

		if (h->bytes >= bytes / ALLOCATOR_SHARE && h->exact) {
			fputs("; ", p->out);
			keepers_put_help(p, h);
		}
	}
	fputc('\n', p->out);
}

void inspection_text_put_keepers(FILE *out, const struct export_options *options,
				 const struct inspection *i, size_t top)
{
	const struct keepers_page p = {.out = out, .options = options, .i = i, .top = top};
	const uint64_t all = i->rss_anon + i->swap;
	char human[FORMAT_BYTES_MAX];
	uint64_t bytes = 0;

	for (size_t n = 0; n < i->allocator_count; n++)
		bytes += i->allocators[n].free_resident;
	if (!bytes)
		return;
	fputc('\n', out);
	text_set_style(out, options, TEXT_BOLD);
	fputs("What keeps the free memory: ", out);
	text_set_style(out, options, TEXT_NONE);
	if (bytes < all / FREE_SHARE && !options->verbose) {
		keepers_put_little(&p, bytes, all);
		return;
	}
	fprintf(out, "%s, which is no leak\n", format_bytes(human, bytes));
	for (size_t n = 0; n < i->allocator_count; n++) {
		const struct inspected_allocator *a = &i->allocators[n];

		if (!a->free_resident ||
		    (!options->verbose && a->free_resident < bytes / ALLOCATOR_SHARE))
			continue;
		fputs("  ", out);
		text_put_name(out, a->name);
		keepers_put_units(&p, a);
		if (keepers_are_many(&p, a)) {
			keepers_put_list(&p, n, false);
			keepers_put_list(&p, n, true);
		}
		keepers_put_helps(&p, n);
	}
}
