// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/growth/growth_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/freeze/resident.h"
#include "user/process/maps.h"

/* Kinds that are named. */
#define SHOWN 3

/* Less memory is not worth a line. */
#define SMALLEST (64u << 10)

/* From glibc's malloc/arena.c: a heap of an arena begins at a multiple of the largest heap's size. */
#define ARENA_HEAP_MAX (64ull << 20)

struct growth_range {
	uint64_t start, end;
};

struct growth_maps {
	struct growth_range *ranges; /* by address, not touching */
	size_t count, room;
};

struct growth_maps *growth_maps_none(void)
{
	return calloc(1, sizeof(struct growth_maps));
}

void growth_maps_free(struct growth_maps *maps)
{
	if (!maps)
		return;
	free(maps->ranges);
	free(maps);
}

struct growth_maps *growth_maps_read(pid_t pid)
{
	struct growth_maps *to = growth_maps_none();
	struct maps *maps = NULL;
	int err = to ? maps_read(pid, &maps) : -ENOMEM;

	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->shared || (!m->write && !m->ino))
			continue;
		if (to->count && to->ranges[to->count - 1].end == m->start)
			to->ranges[to->count - 1].end = m->end;
		else if (RESERVE_ITEM(to->ranges, to->count, to->room, 64))
			to->ranges[to->count++] = (struct growth_range){m->start, m->end};
		else
			err = -ENOMEM;
	}
	maps_free(maps);
	if (!err)
		return to;
	growth_maps_free(to);
	return NULL;
}

/* ---- the look ----------------------------------------------------------------------------- */

enum growth_kind {
	GROWTH_ANONYMOUS,
	GROWTH_NAMED, /* anonymous, with a name that the program gave it (prctl) */
	GROWTH_BSS,
	GROWTH_STACK,
	GROWTH_THREAD_STACK,
	GROWTH_HEAP,
	GROWTH_ARENA,
	GROWTH_FILE,
	GROWTH_OLD, /* all mappings from before together */
};

struct growth_sum {
	enum growth_kind kind;
	char *name; /* owned; NULL: none */
	uint64_t bytes;
	size_t mappings;
	uint64_t largest, largest_at;
};

struct growth_look {
	const struct growth_maps *then;
	struct resident *resident;
	struct growth_sum *sums;
	size_t count, room;
	size_t next;	/* of then->ranges: the first that does not end before where the look is */
	uint64_t bytes; /* of the piece that is being counted */
};

static int growth_count(void *ctx, uint64_t start, uint64_t end)
{
	struct growth_look *look = ctx;

	look->bytes += end - start;
	return 0;
}

static int growth_add(struct growth_look *look, enum growth_kind kind, const char *name,
		      uint64_t start, uint64_t bytes)
{
	struct growth_sum *sum = NULL;

	for (size_t i = 0; i < look->count && !sum; i++) {
		if (look->sums[i].kind == kind &&
		    !strcmp(look->sums[i].name ? look->sums[i].name : "", name ? name : ""))
			sum = &look->sums[i];
	}
	if (!sum) {
		if (!RESERVE_ITEM(look->sums, look->count, look->room, 16))
			return -ENOMEM;
		sum = &look->sums[look->count++];
		*sum = (struct growth_sum){.kind = kind, .name = name ? strdup(name) : NULL};
		if (name && !sum->name)
			return -ENOMEM;
	}
	sum->bytes += bytes;
	sum->mappings++;
	if (bytes > sum->largest) {
		sum->largest = bytes;
		sum->largest_at = start;
	}
	return 0;
}

/* [start, end) of a mapping, all of it new. */
static int growth_look_at(struct growth_look *look, enum growth_kind kind, const char *name,
			  uint64_t start, uint64_t end)
{
	int err;

	look->bytes = 0;
	err = resident_scan(look->resident, start, end, kind == GROWTH_FILE, growth_count, look);
	if (err || !look->bytes)
		return err;
	return growth_add(look, kind, name, start, look->bytes);
}

/*
 * A heap begins with its struct heap_info, whose first word is the address of the arena's struct
 * malloc_state. The first heap of the arena has that struct right behind its own heap_info. A
 * heap_info has 32 bytes, and 48 since glibc 2.35.
 */
static bool growth_is_arena_heap(struct growth_look *look, uint64_t start)
{
	uint64_t arena;

	/* A read would make a page that does not exist. */
	look->bytes = 0;
	if (resident_scan(look->resident, start, start + 4096, false, growth_count, look) ||
	    !look->bytes)
		return false;
	if (resident_read(look->resident, start, &arena, sizeof(arena)) != sizeof(arena))
		return false;
	return arena % ARENA_HEAP_MAX == 32 || arena % ARENA_HEAP_MAX == 48;
}

/* An anonymous mapping may hold several heaps of arenas, and something else before and behind. */
static int growth_look_at_anonymous(struct growth_look *look, enum growth_kind kind, uint64_t start,
				    uint64_t end)
{
	int err = 0;

	while (!err && start < end) {
		uint64_t heap = start - start % ARENA_HEAP_MAX, stop = heap + ARENA_HEAP_MAX;
		bool arena;

		if (stop > end)
			stop = end;
		arena = growth_is_arena_heap(look, heap);
		err = growth_look_at(look, arena ? GROWTH_ARENA : kind, NULL, start, stop);
		start = stop;
	}
	return err;
}

static enum growth_kind growth_kind_of(const struct mapping *m, const struct mapping *before,
				       const char **name)
{
	bool follows = before && before->end == m->start;

	*name = NULL;
	if (m->ino) {
		*name = m->path;
		return GROWTH_FILE;
	}
	if (!strcmp(m->path, "[heap]"))
		return GROWTH_HEAP;
	if (!strcmp(m->path, "[stack]"))
		return GROWTH_STACK;
	if (*m->path) {
		*name = m->path;
		return GROWTH_NAMED;
	}
	if (follows && before->ino && before->write) {
		*name = before->path;
		return GROWTH_BSS;
	}
	/* glibc's guard below a stack; the rest of an arena's heap is above. */
	if (follows && !before->read && !before->ino && before->end - before->start <= 1u << 16)
		return GROWTH_THREAD_STACK;
	return GROWTH_ANONYMOUS;
}

/* Looks at the parts of the mapping that were not there at the time of look->then. */
static int growth_look_at_mapping(struct growth_look *look, const struct mapping *m,
				  const struct mapping *before)
{
	const struct growth_maps *then = look->then;
	const char *name;
	enum growth_kind kind = growth_kind_of(m, before, &name);
	uint64_t at = m->start;
	int err = 0;

	while (look->next < then->count && then->ranges[look->next].end <= at)
		look->next++;
	for (size_t i = look->next; !err && at < m->end; i++) {
		bool some = i < then->count && then->ranges[i].start < m->end;
		uint64_t stop = some ? then->ranges[i].start : m->end;

		if (stop > at && kind == GROWTH_ANONYMOUS)
			err = growth_look_at_anonymous(look, kind, at, stop);
		else if (stop > at)
			err = growth_look_at(look, kind, name, at, stop);
		at = some ? then->ranges[i].end : m->end;
	}
	return err;
}

/* ---- in words ----------------------------------------------------------------------------- */

static int growth_by_bytes(const void *a, const void *b)
{
	const struct growth_sum *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void growth_put_name(FILE *out, const char *path)
{
	static const struct text_rules rules = {.harmful = "?"};
	const char *slash = strrchr(path, '/');

	text_put(out, slash && slash[1] ? slash + 1 : path, &rules);
}

static void growth_put_sum(FILE *out, const struct growth_sum *sum)
{
	static const char *const kinds[] = {
		[GROWTH_ANONYMOUS] = "new anonymous memory",
		[GROWTH_NAMED] = "new memory named ",
		[GROWTH_BSS] = "anonymous memory right behind the data of ",
		[GROWTH_STACK] = "the main thread's stack",
		[GROWTH_THREAD_STACK] = "what look like threads' stacks",
		[GROWTH_HEAP] = "the allocator's [heap]",
		[GROWTH_ARENA] = "heaps of the allocator's arenas",
		[GROWTH_FILE] = "private data of ",
		[GROWTH_OLD] = "memory that was mapped before the attach",
	};
	char human[FORMAT_BYTES_MAX];

	fprintf(out, "%s in %s", format_bytes(human, sum->bytes), kinds[sum->kind]);
	if (sum->name)
		growth_put_name(out, sum->name);
	if (sum->mappings > 1)
		fprintf(out, ", %zu mappings, most of it at 0x%" PRIx64, sum->mappings,
			sum->largest_at);
	else if (sum->largest_at && sum->kind != GROWTH_HEAP && sum->kind != GROWTH_STACK)
		fprintf(out, " at 0x%" PRIx64, sum->largest_at);
}

static int growth_put_where(struct growth_look *look, char **where)
{
	size_t len = 0, shown = 0;
	FILE *out;

	qsort(look->sums, look->count, sizeof(*look->sums), growth_by_bytes);
	out = look->count ? open_memstream(where, &len) : NULL;
	if (!out)
		return look->count ? -ENOMEM : 0;
	for (size_t i = 0; i < look->count && shown < SHOWN && look->sums[i].bytes >= SMALLEST;
	     i++) {
		if (shown++)
			fputc('\n', out);
		growth_put_sum(out, &look->sums[i]);
	}
	if (fclose(out))
		return -ENOMEM;
	if (!len) {
		free(*where);
		*where = NULL;
	}
	return 0;
}

/* Adds up the sums. The rest of the growth is in mappings that were there before. */
static int growth_sum_up(struct growth_look *look, uint64_t grown, uint64_t *files,
			 uint64_t *elsewhere)
{
	uint64_t all = 0;

	*files = *elsewhere = 0;
	for (size_t i = 0; i < look->count; i++) {
		const struct growth_sum *sum = &look->sums[i];

		all += sum->bytes;
		if (sum->kind == GROWTH_FILE)
			*files += sum->bytes;
		else if (sum->kind != GROWTH_HEAP && sum->kind != GROWTH_ARENA)
			*elsewhere += sum->bytes;
	}
	return all < grown && grown - all >= SMALLEST
		       ? growth_add(look, GROWTH_OLD, NULL, 0, grown - all)
		       : 0;
}

int growth_maps_look(const struct growth_maps *then, pid_t pid, uint64_t grown, uint64_t *files,
		     uint64_t *elsewhere, char **where)
{
	struct growth_look look = {.then = then};
	const struct mapping *before = NULL;
	struct maps *maps = NULL;
	int err = maps_read(pid, &maps);

	if (!err)
		err = resident_open(pid, &look.resident);
	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		/* Read-only ones too: relocation has made pages of them the process's own. */
		if (!m->shared && (m->write || m->ino))
			err = growth_look_at_mapping(&look, m, before);
		before = m;
	}
	err = err ?: growth_sum_up(&look, grown, files, elsewhere);
	err = err ?: growth_put_where(&look, where);
	for (size_t i = 0; i < look.count; i++)
		free(look.sums[i].name);
	free(look.sums);
	resident_close(look.resident);
	maps_free(maps);
	return err;
}
