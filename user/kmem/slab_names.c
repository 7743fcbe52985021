// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/slab_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* MAX_FULL_SHEAVES of mm/slub.c: full and empty ones of a node. */
#define SLAB_BARN_SHEAVES 20

struct slab_names {
	struct slab_name *items; /* by target, then by name */
	size_t count, room;
	const char **aliases;
};

/* 0 where there is none. */
static uint64_t slab_names_number(int dir, const char *cache, const char *file)
{
	_cleanup_fclose_ FILE *stream = NULL;
	uint64_t number = 0;
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cache, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!stream) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	return fscanf(stream, "%" SCNu64, &number) == 1 ? number : 0;
}

static int slab_names_add(struct slab_names *names, int dir, const char *entry)
{
	struct slab_name name = {0};
	char target[256];
	ssize_t len = readlinkat(dir, entry, target, sizeof(target) - 1);
	char *slash;

	if (*entry == '.' || (*entry == ':' && len < 0))
		return 0;
	target[len > 0 ? len : 0] = '\0';
	slash = strrchr(target, '/');
	if (!RESERVE_ITEM(names->items, names->count, names->room, 256))
		return -ENOMEM;
	name.name = strdup(entry);
	name.target = strdup(len <= 0 ? entry : slash ? slash + 1 : target);
	names->items[names->count++] = name;
	return name.name && name.target ? 0 : -ENOMEM;
}

static int slab_names_order(const void *a, const void *b)
{
	const struct slab_name *x = a, *y = b;

	return strcmp(x->target, y->target) ?: strcmp(x->name, y->name);
}

/* All names of one cache share what is known of it. */
static int slab_names_unite(struct slab_names *names, int dir)
{
	struct slab_name *items = names->items;
	size_t end;

	qsort(items, names->count, sizeof(*items), slab_names_order);
	names->aliases = calloc(names->count + 1, sizeof(*names->aliases));
	if (!names->aliases)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i = end) {
		const bool reclaimable =
			slab_names_number(dir, items[i].name, "reclaim_account") != 0;
		const uint64_t partial = slab_names_number(dir, items[i].name, "cpu_partial");
		const uint64_t sheaf = slab_names_number(dir, items[i].name, "sheaf_capacity");

		for (end = i; end < names->count && !strcmp(items[end].target, items[i].target);
		     end++)
			names->aliases[end] = items[end].name;
		for (size_t j = i; j < end; j++) {
			items[j].aliases = &names->aliases[i];
			items[j].alias_count = end - i;
			items[j].reclaimable = reclaimable;
			items[j].cpu_partial = partial;
			items[j].sheaf = sheaf;
		}
	}
	return 0;
}

struct slab_names *slab_names_read(const char *directory)
{
	struct slab_names *names = calloc(1, sizeof(*names));
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int err = 0;

	while (names && dir && !err && (entry = readdir(dir)) != NULL)
		err = slab_names_add(names, dirfd(dir), entry->d_name);
	if (names && dir && !err)
		err = slab_names_unite(names, dirfd(dir));
	if (dir)
		closedir(dir);
	if (!err)
		return names;
	slab_names_free(names);
	return NULL;
}

void slab_names_free(struct slab_names *names)
{
	for (size_t i = 0; names && i < names->count; i++) {
		free(names->items[i].name);
		free(names->items[i].target);
	}
	if (names) {
		free(names->items);
		free(names->aliases);
	}
	free(names);
}

const struct slab_name *slab_names_find(const struct slab_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->items[i].name, name))
			return &names->items[i];
	}
	return NULL;
}

uint64_t slab_name_slack(const struct slab_name *name, uint64_t objects_per_slab, unsigned cpus)
{
	uint64_t partial = name ? name->cpu_partial : 0, sheaf = name ? name->sheaf : 0;
	/* slub_set_cpu_partial(): it expects slabs to be half full. */
	uint64_t slabs =
		objects_per_slab ? (2 * partial + objects_per_slab - 1) / objects_per_slab : 0;

	return cpus * ((1 + slabs) * objects_per_slab + 3 * sheaf) + SLAB_BARN_SHEAVES * sheaf;
}
