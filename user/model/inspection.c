// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/inspection.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"

const char *memory_part_name(enum memory_part part)
{
	static const char *const names[] = {
		[MEMORY_IN_USE] = "in_use",
		[MEMORY_SLACK] = "slack",
		[MEMORY_FREE] = "allocator_free",
		[MEMORY_BOOKS] = "allocator_books",
		[MEMORY_UNBELIEVED] = "unbelieved",
		[MEMORY_STACKS] = "stacks",
		[MEMORY_ANONYMOUS] = "other_anonymous",
		[MEMORY_FILE_PRIVATE] = "file_private",
		[MEMORY_REST] = "rest",
	};

	_Static_assert(ARRAY_SIZE(names) == MEMORY_PARTS, "a name for each part");
	return (unsigned)part < MEMORY_PARTS ? names[part] : "?";
}

const char *memory_part_text(enum memory_part part)
{
	static const char *const texts[] = {
		[MEMORY_IN_USE] = "in use",
		[MEMORY_SLACK] = "more than was asked for, in blocks in use",
		[MEMORY_FREE] = "free, kept by the allocator",
		[MEMORY_BOOKS] = "the allocator's own books",
		[MEMORY_UNBELIEVED] =
			"an allocator's, with books that are not known or do not add up",
		[MEMORY_STACKS] = "stacks of threads",
		[MEMORY_ANONYMOUS] = "mappings of no allocator that is known",
		[MEMORY_FILE_PRIVATE] = "data of the program and its libraries",
		[MEMORY_REST] = "nothing of the above",
	};

	_Static_assert(ARRAY_SIZE(texts) == MEMORY_PARTS, "a text for each part");
	return (unsigned)part < MEMORY_PARTS ? texts[part] : "?";
}

const char *group_kind_name(enum group_kind kind)
{
	static const char *const names[] = {
		[GROUP_CLASS] = "class", [GROUP_PYTHON] = "python", [GROUP_TYPE] = "type",
		[GROUP_TEXT] = "text",	 [GROUP_SIZE] = "size",
	};

	_Static_assert(ARRAY_SIZE(names) == GROUP_KINDS, "a name for each kind");
	return (unsigned)kind < GROUP_KINDS ? names[kind] : "?";
}

const char *help_kind_name(enum help_kind kind)
{
	static const char *const names[] = {
		[HELP_MALLOC_TRIM] = "malloc_trim",
		[HELP_ARENA_MAX] = "arena_max",
		[HELP_MMAP_THRESHOLD] = "mmap_threshold",
		[HELP_PURGE] = "purge",
		[HELP_FLUSH] = "flush",
		[HELP_RELEASE] = "release_free_memory",
		[HELP_COLLECT] = "collect",
	};

	_Static_assert(ARRAY_SIZE(names) == HELP_KINDS, "a name for each kind");
	return (unsigned)kind < HELP_KINDS ? names[kind] : "?";
}

const char *inspected_group_suppressed(const struct inspected_group *group)
{
	/*
	 * Here no stack says who has allocated what, so there are fewer than in
	 * user/analysis/suppress_builtin.c.
	 */
	static const struct {
		const char *class, *name;
	} known[] = {
		{"MallocExtension", "tcmalloc: its default extension"},
	};

	for (size_t i = 0; group->kind == GROUP_CLASS && i < ARRAY_SIZE(known); i++) {
		if (group->name && !strcmp(group->name, known[i].class))
			return known[i].name;
	}
	return NULL;
}

struct amount inspection_leaks(const struct inspection *inspection)
{
	struct amount sum = {0};

	for (size_t i = 0; i < inspection->loss_count; i++) {
		const struct inspected_loss *loss = &inspection->losses[i];

		if (!inspected_group_suppressed(&inspection->groups[loss->group]))
			amount_add(&sum, &loss->lost);
	}
	return sum;
}

char *inspected_group_label(const struct inspected_group *g)
{
	char human[FORMAT_BYTES_MAX], *label = NULL;
	const char *name = g->name ? g->name : "?";
	int len = -1;

	switch (g->kind) {
	case GROUP_PYTHON:
		len = asprintf(&label, "Python %s", name);
		break;
	case GROUP_SIZE:
		format_bytes(human, g->size);
		/* Some digits of the hash tell groups of one size apart. */
		if (!g->size)
			len = asprintf(&label, "blocks of other sizes");
		else if (g->beginning)
			len = asprintf(&label, "blocks of %s that begin alike, #%04x", human,
				       (unsigned)(g->beginning & 0xffff));
		else
			len = asprintf(&label, "blocks of %s", human);
		break;
	case GROUP_TEXT:
		len = asprintf(&label, "text");
		break;
	default:
		len = asprintf(&label, "%s", name);
		break;
	}
	return len < 0 ? NULL : label;
}

char *inspected_way_label(const struct inspected_way *way)
{
	char count[FORMAT_GROUPED_MAX], *label = NULL;
	int len;

	if (way->up == SIZE_MAX || way->single)
		return strdup(way->name);
	if (way->own.count == 1 && strncmp(way->name, "blocks of ", strlen("blocks of ")) != 0)
		return strdup(way->name);
	if (way->own.count == 1)
		return asprintf(&label, "a block of %s", way->name + strlen("blocks of ")) < 0
			       ? NULL
			       : label;
	len = asprintf(&label, "%s %s%s", format_grouped(count, way->own.count),
		       way->linked ? "linked " : "", way->name);
	return len < 0 ? NULL : label;
}

static int inspected_compare_text(const char *a, const char *b)
{
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

int inspected_group_compare(const struct inspected_group *a, const struct inspected_group *b)
{
	int order = inspected_compare_text(a->name, b->name);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->beginning != b->beginning)
		return a->beginning < b->beginning ? -1 : 1;
	return order ? order : inspected_compare_text(a->module, b->module);
}

void inspection_free(struct inspection *inspection)
{
	if (!inspection)
		return;
	for (size_t i = 0; i < inspection->mapping_count; i++) {
		free(inspection->mappings[i].name);
		free(inspection->mappings[i].held_by);
	}
	for (size_t i = 0; i < inspection->group_count; i++) {
		free(inspection->groups[i].name);
		free(inspection->groups[i].module);
		for (size_t n = 0; n < inspection->groups[i].holder_count; n++)
			free(inspection->groups[i].holders[n].path);
		free(inspection->groups[i].contents);
		free(inspection->groups[i].origin.function);
	}
	for (size_t i = 0; i < inspection->loss_count; i++)
		free(inspection->losses[i].origin.function);
	for (size_t i = 0; i < inspection->way_count; i++)
		free(inspection->ways[i].name);
	findings_free(inspection->findings);
	for (size_t i = 0; i < inspection->keeper_count; i++)
		free(inspection->keepers[i].function);
	free(inspection->keepers);
	free(inspection->helps);
	for (size_t i = 0; i < inspection->managed_count; i++)
		managed_heap_release(&inspection->managed[i]);
	free(inspection->managed);
	free(inspection->ways);
	free(inspection->mappings);
	free(inspection->groups);
	free(inspection->losses);
	free(inspection->allocators);
	free(inspection->core);
	free((void *)inspection->cmdline);
	free(inspection);
}
