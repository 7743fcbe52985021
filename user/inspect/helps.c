// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a call, or a setting, would give back of the memory that allocators keep free. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/inspect/keepers.h"

/* The versions of glibc whose malloc_trim() is known. */
#define GLIBC_FIRST 26
#define GLIBC_LAST  41

struct helps {
	struct inspection *out;
	size_t room;
};

static int helps_add(struct helps *h, const struct inspected_help *help)
{
	if (!RESERVE_ITEM(h->out->helps, h->out->help_count, h->room, 16))
		return -ENOMEM;
	h->out->helps[h->out->help_count++] = *help;
	return 0;
}

static bool helps_is_known_glibc(const char *version)
{
	unsigned minor;

	return sscanf(version, "2.%3u", &minor) == 1 && minor >= GLIBC_FIRST && minor <= GLIBC_LAST;
}

/* What it gives is known to the page, unless a thread was in the midst of a change. */
static int helps_of_glibc(struct helps *h, const struct inventory_trim *trim, size_t allocator)
{
	const struct inspected_allocator *shown = &h->out->allocators[allocator];
	const struct inspected_help call = {
		.kind = HELP_MALLOC_TRIM,
		.allocator = allocator,
		.bytes = trim->midst + trim->top,
		.exact = !trim->unsure && !h->out->verdict.approximate,
		.top = trim->top,
		.left = trim->left,
	};
	const struct inspected_help fewer = {
		.kind = HELP_ARENA_MAX, .allocator = allocator, .bytes = trim->others};
	const struct inspected_help threshold = {
		.kind = HELP_MMAP_THRESHOLD,
		.allocator = allocator,
		.bytes = trim->large,
		.mmap_threshold = trim->mmap_threshold,
		.trim_threshold = trim->trim_threshold,
	};
	int err;

	if (!trim->known || !helps_is_known_glibc(shown->version))
		return 0;
	err = helps_add(h, &call);
	if (!err && shown->arenas > 1)
		err = helps_add(h, &fewer);
	if (!err && trim->raised)
		err = helps_add(h, &threshold);
	return err;
}

static int helps_of(struct helps *h, const struct inventory_allocator *a, size_t allocator)
{
	const struct inspected_allocator *shown = &h->out->allocators[allocator];
	struct inspected_help help = {.allocator = allocator};
	int err;

	if (!strcmp(shown->name, "glibc"))
		return helps_of_glibc(h, &a->trim, allocator);
	if (!strcmp(shown->name, "jemalloc")) {
		help.kind = HELP_PURGE;
		help.bytes = shown->dirty_resident + shown->muzzy_resident;
		err = helps_add(h, &help);
		help.kind = HELP_FLUSH;
		help.bytes = shown->cached_resident;
		return err ?: help.bytes ? helps_add(h, &help) : 0;
	}
	if (!strncmp(shown->name, "tcmalloc", strlen("tcmalloc"))) {
		help.kind = HELP_RELEASE;
		help.bytes = a->spans_resident;
		help.exact = !h->out->verdict.approximate;
		return helps_add(h, &help);
	}
	if (!strcmp(shown->name, "mimalloc")) {
		help.kind = HELP_COLLECT;
		help.bytes = shown->free_resident - shown->kept_resident - shown->untold_resident;
		return helps_add(h, &help);
	}
	return 0;
}

int helps_find(const struct inventory *inventory, struct inspection *out)
{
	struct helps h = {.out = out};
	int err = 0;

	for (size_t i = 0; !err && i < out->allocator_count; i++)
		err = helps_of(&h, &inventory->allocators[i], i);
	return err;
}
