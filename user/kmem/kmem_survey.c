// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_survey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kmem/caller_list.h"
#include "user/kmem/group_list.h"
#include "user/kmem/meminfo.h"
#include "user/kmem/size_history.h"
#include "user/kmem/slab_names.h"
#include "user/kmem/slabinfo.h"

#define POOL_FLOOR  (1024 * 1024) /* a pool or group that changes by less does not grow */
#define CACHE_FLOOR (256 * 1024)

struct kmem_survey {
	struct size_history *history;
	struct slab_names *names;
	struct slabinfo caches, marked;
	struct caller_list areas, sites;
	struct group_list groups;
	struct meminfo meminfo;
	uint64_t page_bytes;
	unsigned cpus;
	bool short_of_memory;  /* tasks have waited for memory of late */
	struct slabinfo first; /* of the first look: what growth in blocks is counted from */
	struct kernel_pool pools[MEMINFO_POOLS];
	size_t pool_count;
	struct kernel_cache *rows;
	struct kernel_caller *area_rows, *site_rows;
	struct kernel_group *group_rows;
};

struct kmem_survey *kmem_survey_new(void)
{
	struct kmem_survey *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->history = size_history_new();
	s->names = slab_names_read(SLAB_NAMES_DIRECTORY);
	s->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	s->cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	if (s->history && s->names)
		return s;
	kmem_survey_free(s);
	return NULL;
}

void kmem_survey_free(struct kmem_survey *s)
{
	if (!s)
		return;
	size_history_free(s->history);
	slab_names_free(s->names);
	slabinfo_free(&s->caches);
	slabinfo_free(&s->marked);
	slabinfo_free(&s->first);
	caller_list_free(&s->areas);
	caller_list_free(&s->sites);
	group_list_free(&s->groups);
	free(s->rows);
	free(s->area_rows);
	free(s->site_rows);
	free(s->group_rows);
	free(s);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* PSI (Linux 4.20): have tasks waited for memory within the last minute? */
static bool kmem_survey_is_short(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/pressure/memory", "re");
	double average = 0;

	return file && fscanf(file, "some avg10=%*f avg60=%lf", &average) == 1 && average > 0;
}

static void kmem_survey_miss(struct kernel_report *report, const char *what, const char *file,
			     const char *costs, int err)
{
	missing_add(&report->missing, what, costs, "%s: %s", file, strerror(-err));
}

static int kmem_survey_read_caches(struct slabinfo *out)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/slabinfo", "re");

	out->count = 0;
	return file ? slabinfo_parse(file, out) : -errno;
}

static int kmem_survey_read(struct kmem_survey *s, struct kernel_report *report)
{
	_cleanup_fclose_ FILE *meminfo = fopen("/proc/meminfo", "re");
	_cleanup_fclose_ FILE *areas = fopen("/proc/vmallocinfo", "re");
	int areas_err = areas ? 0 : -errno;
	_cleanup_fclose_ FILE *sites = fopen("/proc/allocinfo", "re");
	int err = meminfo ? meminfo_parse(meminfo, &s->meminfo) : -errno;

	if (err)
		return log_errno(err, "/proc/meminfo");
	err = kmem_survey_read_caches(&s->caches);
	if (err)
		kmem_survey_miss(report, "slabinfo", "/proc/slabinfo", "caches are not told apart",
				 err);
	areas_err = areas_err ?: caller_list_areas(areas, s->page_bytes, &s->areas);
	if (areas_err)
		kmem_survey_miss(report, "vmallocinfo", "/proc/vmallocinfo",
				 "functions that allocate areas are not known", areas_err);
	/* Most kernels are built without. */
	if (!sites || caller_list_sites(sites, &s->sites))
		s->sites.count = 0;
	s->short_of_memory = kmem_survey_is_short();
	return group_list_read(&s->groups) ? log_errno(ENOMEM, "control groups") : 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void kmem_survey_put_pools(struct kmem_survey *s)
{
	s->pool_count = 0;
	for (unsigned i = 0; i < MEMINFO_POOLS; i++) {
		struct kernel_pool *pool = &s->pools[s->pool_count];

		if (!s->meminfo.known[i])
			continue;
		*pool = (struct kernel_pool){
			.name = meminfo_name(i),
			.title = meminfo_title(i),
			.reclaimable = i == MEMINFO_SLAB_RECLAIMABLE,
		};
		size_history_add(s->history, size_history_key("pool", pool->name),
				 s->meminfo.bytes[i], POOL_FLOOR, false, &pool->size);
		s->pool_count++;
	}
}

static const struct slabinfo_cache *slabinfo_find(const struct slabinfo *info, const char *name)
{
	for (size_t i = 0; i < info->count; i++) {
		if (!strcmp(info->caches[i].name, name))
			return &info->caches[i];
	}
	return NULL;
}

static int kmem_survey_by_growth(const struct kernel_size *x, const struct kernel_size *y)
{
	if (x->growth != y->growth)
		return x->growth < y->growth ? 1 : -1;
	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* What can be reclaimed comes last. */
static int kmem_survey_cache_order(const void *a, const void *b)
{
	const struct kernel_cache *x = a, *y = b;

	if (x->reclaimable != y->reclaimable)
		return x->reclaimable ? 1 : -1;
	return kmem_survey_by_growth(&x->size, &y->size);
}

static int kmem_survey_caller_order(const void *a, const void *b)
{
	return kmem_survey_by_growth(&((const struct kernel_caller *)a)->size,
				     &((const struct kernel_caller *)b)->size);
}

static int kmem_survey_group_order(const void *a, const void *b)
{
	return kmem_survey_by_growth(&((const struct kernel_group *)a)->size,
				     &((const struct kernel_group *)b)->size);
}

static void kmem_survey_put_cache(struct kmem_survey *s, const struct slabinfo_cache *cache,
				  struct kernel_cache *row)
{
	const struct slab_name *name = slab_names_find(s->names, cache->name);
	const struct slabinfo_cache *first = slabinfo_find(&s->first, cache->name);

	*row = (struct kernel_cache){
		.name = cache->name,
		.aliases = name ? name->aliases : NULL,
		.alias_count = name ? name->alias_count : 0,
		.object_bytes = cache->object_bytes,
		.blocks = cache->active,
		.growth_blocks = (int64_t)(cache->active - (first ? first->active : 0)),
		.reclaimable = name && name->reclaimable,
	};
	size_history_add(s->history, size_history_key("cache", cache->name),
			 cache->slabs * cache->pages_per_slab * s->page_bytes, CACHE_FLOOR, true,
			 &row->size);
}

static int kmem_survey_put_caches(struct kmem_survey *s)
{
	struct kernel_cache *rows = reallocarray(s->rows, s->caches.count + 1, sizeof(*s->rows));

	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	if (!s->first.count && s->caches.count) {
		s->first.caches = calloc(s->caches.count, sizeof(*s->first.caches));
		if (!s->first.caches)
			return -ENOMEM;
		s->first.count = s->first.room = s->caches.count;
		memcpy(s->first.caches, s->caches.caches,
		       s->caches.count * sizeof(*s->first.caches));
	}
	for (size_t i = 0; i < s->caches.count; i++)
		kmem_survey_put_cache(s, &s->caches.caches[i], &rows[i]);
	qsort(rows, s->caches.count, sizeof(*rows), kmem_survey_cache_order);
	return 0;
}

static int kmem_survey_put_callers(struct kmem_survey *s, const char *kind,
				   const struct caller_list *list, struct kernel_caller **out)
{
	struct kernel_caller *rows = reallocarray(*out, list->count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	*out = rows;
	for (size_t i = 0; i < list->count; i++) {
		const struct caller *c = &list->items[i];
		char key[400];

		rows[i] = (struct kernel_caller){
			.function = c->function,
			.file = *c->file ? c->file : NULL,
			.line = c->line,
			.module = *c->module ? c->module : NULL,
			.blocks = c->blocks,
		};
		snprintf(key, sizeof(key), "%s:%u:%s:%s", c->file, c->line, c->function, c->module);
		size_history_add(s->history, size_history_key(kind, key), c->bytes, CACHE_FLOOR,
				 true, &rows[i].size);
	}
	qsort(rows, list->count, sizeof(*rows), kmem_survey_caller_order);
	return 0;
}

static int kmem_survey_put_groups(struct kmem_survey *s)
{
	struct kernel_group *rows = reallocarray(s->group_rows, s->groups.count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	s->group_rows = rows;
	for (size_t i = 0; i < s->groups.count; i++) {
		const struct group *group = &s->groups.items[i];

		rows[i].path = group->path;
		size_history_add(s->history, size_history_key("group", group->path), group->bytes,
				 POOL_FLOOR, true, &rows[i].size);
	}
	qsort(rows, s->groups.count, sizeof(*rows), kmem_survey_group_order);
	return 0;
}

int kmem_survey_look(struct kmem_survey *s, uint64_t time_ns, struct kernel_report *report)
{
	int err = kmem_survey_read(s, report);

	if (err)
		return err;
	size_history_look(s->history, time_ns);
	kmem_survey_put_pools(s);
	err = kmem_survey_put_caches(s)
		      ?: kmem_survey_put_callers(s, "area", &s->areas, &s->area_rows)
		      ?: kmem_survey_put_callers(s, "site", &s->sites, &s->site_rows)
		      ?: kmem_survey_put_groups(s);
	if (err)
		return log_errno(err, "kernel");
	report->pools = s->pools;
	report->pool_count = s->pool_count;
	report->caches = s->rows;
	report->cache_count = s->caches.count;
	report->areas = s->area_rows;
	report->area_count = s->areas.count;
	report->sites = s->site_rows;
	report->site_count = s->sites.count;
	report->groups = s->group_rows;
	report->group_count = s->groups.count;
	return 0;
}

/* ---- questions ---------------------------------------------------------------------------- */

unsigned kmem_survey_growing(const struct kmem_survey *s)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < s->pool_count; i++) {
		const struct kernel_pool *pool = &s->pools[i];

		/* The kernel would take it back: growth says nothing while there is enough. */
		if (pool->size.trend.kind != TREND_GROWING ||
		    (pool->reclaimable && !s->short_of_memory))
			continue;
		if (!strncmp(pool->name, "slab", 4))
			kinds |= 1u << KERNEL_SLAB;
		else if (!strcmp(pool->name, "percpu"))
			kinds |= 1u << KERNEL_PERCPU;
		else
			kinds |= 1u << KERNEL_PAGES;
	}
	return kinds;
}

int kmem_survey_mark(struct kmem_survey *s)
{
	int err = kmem_survey_read_caches(&s->marked);

	return err == -ENOMEM ? log_errno(err, "/proc/slabinfo") : 0;
}

/*
 * Blocks in use now, beyond those at the mark, and by how many that may be wrong. Others free what
 * there was before: up to a quarter of it is no reason for distrust.
 */
static uint64_t kmem_survey_room(const struct kmem_survey *s, const struct slabinfo_cache *cache)
{
	const struct slabinfo_cache *before = slabinfo_find(&s->marked, cache->name);
	const uint64_t then = before ? before->active : 0;
	const uint64_t grown = cache->active > then ? cache->active - then : 0;

	return grown + grown / 20 + then / 4 +
	       slab_name_slack(slab_names_find(s->names, cache->name), cache->objects_per_slab,
			       s->cpus);
}

/*
 * "kmalloc-64", "kmalloc-cg-64", "kmalloc-rnd-03-64", "dma-kmalloc-1k"; and of Linux 6.11 on buckets
 * of their own: "msg_msg-64".
 */
static bool kmem_survey_is_general(const struct slabinfo_cache *cache, uint64_t object_bytes)
{
	const char *size = strrchr(cache->name, '-');
	char *end;
	uint64_t number = size ? strtoull(size + 1, &end, 10) : 0;

	if (cache->object_bytes != object_bytes || !number)
		return false;
	return number * (*end == 'k' ? 1024 : 1) == object_bytes;
}

/* Has the cache this name, as `of` says what is known of the name (NULL: nothing)? */
static bool kmem_survey_matches(const char *cache, const char *name, const struct slab_name *of)
{
	bool same = !strcmp(cache, name);

	for (size_t i = 0; !same && of && i < of->alias_count; i++)
		same = !strcmp(of->aliases[i], cache);
	return same;
}

uint64_t kmem_survey_most(const struct kmem_survey *s, const char *name, uint64_t object_bytes)
{
	const struct slab_name *of = name ? slab_names_find(s->names, name) : NULL;
	uint64_t most = 0;
	bool any = false;

	if (!s->marked.count || !s->caches.count)
		return UINT64_MAX;
	for (size_t i = 0; i < s->caches.count; i++) {
		const struct slabinfo_cache *cache = &s->caches.caches[i];

		if (!name   ? !kmem_survey_is_general(cache, object_bytes)
		    : *name ? !kmem_survey_matches(cache->name, name, of)
			    : cache->object_bytes != object_bytes)
			continue;
		most += kmem_survey_room(s, cache);
		any = true;
	}
	return any ? most : UINT64_MAX;
}

const char *kmem_survey_group(const struct kmem_survey *s, uint64_t id)
{
	const struct group *group = group_list_find(&s->groups, id);

	return group ? group->path : NULL;
}

bool kmem_survey_reclaimable(const struct kmem_survey *s, const char *cache)
{
	const struct slab_name *name = slab_names_find(s->names, cache);

	return name && name->reclaimable;
}

bool kmem_survey_is_name(const struct kmem_survey *s, const char *cache, const char *name)
{
	return kmem_survey_matches(cache, name, slab_names_find(s->names, name));
}

void kmem_survey_distrust(struct kmem_survey *s, const char *cache)
{
	const struct slab_name *of = slab_names_find(s->names, cache);

	for (size_t i = 0; i < s->caches.count; i++) {
		if (kmem_survey_matches(s->rows[i].name, cache, of))
			s->rows[i].frees_unseen = true;
	}
}
