// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f folded=kept and folded=retained: an inspection as flame graphs. A line is a path from the process on, and the
 * bytes that no longer path has. They are free memory by allocator and what keeps it, or blocks by what they hang on.
 * Of each process the last look counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"

/* Ways hang on each other, and a recording may have made them up. */
#define DEPTH_MAX 256

struct folded_look {
	pid_t pid;
	char *core;
	char *text;
};

struct folded_inspections {
	struct exporter base;
	struct folded_look *looks;
	size_t count, room;
	void (*put)(FILE *out, const struct inspection *i);
};

static void folded_put(FILE *out, const char *name)
{
	/* A semicolon would begin another frame, a newline another stack. */
	static const char *const instead[] = {":"};
	static const struct text_rules rules = {
		.special = ";", .instead = instead, .harmful = "?", .invalid = "?"};

	text_put(out, name ? name : "?", &rules);
}

static void folded_put_process(FILE *out, const struct inspection *i)
{
	char comm[sizeof(i->comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(i->comm), i->comm);
	folded_put(out, *comm ? comm : "?");
	if (!i->core)
		fprintf(out, "-%d", (int)i->pid);
	fputc(';', out);
}

static void folded_end_line(FILE *out, uint64_t bytes)
{
	fprintf(out, " %" PRIu64 "\n", bytes);
}

/* ---- what is kept ------------------------------------------------------------------------- */

static void folded_put_sum(FILE *out, const struct inspection *i,
			   const struct inspected_allocator *a, const char *what, uint64_t bytes)
{
	if (!bytes)
		return;
	folded_put_process(out, i);
	folded_put(out, a->name);
	fprintf(out, ";[%s]", what);
	folded_end_line(out, bytes);
}

static void folded_put_keeper(FILE *out, const struct inspection *i,
			      const struct inspected_keeper *k)
{
	struct inspected_group group = i->groups[k->group];
	char *label;

	/* One group stands for all blocks of its size, however they begin. */
	group.beginning = 0;
	label = inspected_group_label(&group);
	folded_put_process(out, i);
	folded_put(out, i->allocators[k->allocator].name);
	fputs(";[kept];", out);
	folded_put(out, label);
	folded_end_line(out, k->kept);
	free(label);
}

/* All lines of an allocator are its free memory. */
static void folded_put_kept(FILE *out, const struct inspection *i)
{
	for (size_t n = 0; n < i->allocator_count; n++) {
		const struct inspected_allocator *a = &i->allocators[n];
		uint64_t told = a->kept_resident + a->cached_resident + a->untold_resident;
		uint64_t others = a->kept_resident;

		for (size_t k = 0; k < i->keeper_count; k++) {
			const struct inspected_keeper *keeper = &i->keepers[k];

			if (keeper->allocator != n || keeper->group == SIZE_MAX)
				continue;
			folded_put_keeper(out, i, keeper);
			others -= keeper->kept < others ? keeper->kept : others;
		}
		folded_put_sum(out, i, a, "kept by others", others);
		folded_put_sum(out, i, a, "kept by caches", a->cached_resident);
		folded_put_sum(out, i, a, "not told", a->untold_resident);
		folded_put_sum(out, i, a, "nobody's",
			       a->free_resident > told ? a->free_resident - told : 0);
	}
}

/* ---- what hangs on what ------------------------------------------------------------------- */

static void folded_put_way(FILE *out, const struct inspection *i, size_t way, uint64_t bytes)
{
	size_t path[DEPTH_MAX], depth = 0;

	for (size_t at = way; at != SIZE_MAX && depth < DEPTH_MAX; at = i->ways[at].up)
		path[depth++] = at;
	folded_put_process(out, i);
	while (depth) {
		const struct inspected_way *step = &i->ways[path[--depth]];

		folded_put(out, step->name);
		if (step->linked)
			fputs(", linked", out);
		if (depth)
			fputc(';', out);
	}
	folded_end_line(out, bytes);
}

/* What hangs on it and on no way that is told behind it: of small ones there is none. */
static void folded_put_retained(FILE *out, const struct inspection *i)
{
	uint64_t *own = calloc(i->way_count + 1, sizeof(*own));

	for (size_t n = 0; own && n < i->way_count; n++)
		own[n] = i->ways[n].retained.bytes;
	for (size_t n = 0; own && n < i->way_count; n++) {
		const struct inspected_way *way = &i->ways[n];

		if (way->up != SIZE_MAX)
			own[way->up] -= way->retained.bytes < own[way->up] ? way->retained.bytes
									   : own[way->up];
	}
	for (size_t n = 0; own && n < i->way_count; n++) {
		if (own[n])
			folded_put_way(out, i, n, own[n]);
	}
	free(own);
}

/* ---- the formats -------------------------------------------------------------------------- */

static struct folded_look *folded_look_of(struct folded_inspections *e, const struct inspection *i)
{
	struct folded_look *look;

	for (size_t n = 0; n < e->count; n++) {
		look = &e->looks[n];
		if (look->pid == i->pid && !look->core == !i->core &&
		    (!i->core || !strcmp(look->core, i->core)))
			return look;
	}
	if (!RESERVE_ITEM(e->looks, e->count, e->room, 16))
		return NULL;
	look = &e->looks[e->count];
	*look = (struct folded_look){.pid = i->pid, .core = i->core ? strdup(i->core) : NULL};
	if (i->core && !look->core)
		return NULL;
	e->count++;
	return look;
}

static int folded_inspection(struct exporter *base, const struct inspection *i, size_t top)
{
	struct folded_inspections *e = (struct folded_inspections *)base;
	struct folded_look *look = folded_look_of(e, i);
	char *text = NULL;
	size_t len = 0;
	FILE *out = look ? open_memstream(&text, &len) : NULL;

	(void)top;
	if (!out)
		return -ENOMEM;
	e->put(out, i);
	if (close_memstream(out)) {
		free(text);
		return -ENOMEM;
	}
	free(look->text);
	look->text = text;
	return 0;
}

/* Snapshots are others' business. */
static int folded_no_snapshot(struct exporter *e, const struct report *r,
			      const struct stack *const *shown, size_t shown_count)
{
	(void)e;
	(void)r;
	(void)shown;
	(void)shown_count;
	return 0;
}

static int folded_close(struct exporter *base)
{
	struct folded_inspections *e = (struct folded_inspections *)base;
	int err = 0;

	if (!e)
		return 0;
	for (size_t n = 0; n < e->count; n++) {
		if (!err && e->looks[n].text)
			err = exporter_write(base, e->looks[n].text, strlen(e->looks[n].text));
		free(e->looks[n].text);
		free(e->looks[n].core);
	}
	free(e->looks);
	return exporter_close(base) ?: err;
}

static struct exporter *folded_open(FILE *out, const struct export_options *options,
				    void (*put)(FILE *out, const struct inspection *i))
{
	struct folded_inspections *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->base = (struct exporter){.out = out, .options = *options};
	e->put = put;
	return &e->base;
}

static struct exporter *folded_open_kept(FILE *out, const struct export_options *options)
{
	return folded_open(out, options, folded_put_kept);
}

static struct exporter *folded_open_retained(FILE *out, const struct export_options *options)
{
	return folded_open(out, options, folded_put_retained);
}

const struct exporter_format format_folded_kept = {
	.name = "folded=kept",
	.help = "what keeps free memory, for flame graphs",
	.only_inspections = true,
	.open = folded_open_kept,
	.snapshot = folded_no_snapshot,
	.inspection = folded_inspection,
	.close = folded_close,
};

const struct exporter_format format_folded_retained = {
	.name = "folded=retained",
	.help = "what hangs on what, for flame graphs",
	.only_inspections = true,
	.open = folded_open_retained,
	.snapshot = folded_no_snapshot,
	.inspection = folded_inspection,
	.close = folded_close,
};
