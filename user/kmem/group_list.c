// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/group_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/util.h"

#define GROUP_DEPTH 32
#define GROUP_PATH  1024

struct group_walk {
	struct group_list *list;
	int version;
	char path[GROUP_PATH]; /* of the group that is looked at, from the root; "": the root */
	unsigned depth;
};

uint64_t group_stat_kernel(FILE *file)
{
	/* "kernel" (5.18) is the sum of these. Buffers of sockets are charged by themselves. */
	static const char *const parts[] = {
		"kernel_stack", "pagetables",	    "sec_pagetables",	 "percpu",
		"vmalloc",	"slab_reclaimable", "slab_unreclaimable"};
	uint64_t kernel = 0, sock = 0, sum = 0, bytes;
	char line[128], name[64];

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %" SCNu64, name, &bytes) != 2)
			continue;
		if (!strcmp(name, "kernel"))
			kernel = bytes;
		if (!strcmp(name, "sock"))
			sock = bytes;
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			sum += !strcmp(name, parts[i]) ? bytes : 0;
	}
	return (kernel ? kernel : sum) + sock;
}

static uint64_t group_read_bytes(int dir, int version)
{
	const char *name = version == 2 ? "memory.stat" : "memory.kmem.usage_in_bytes";
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	uint64_t bytes = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (version == 2)
		return group_stat_kernel(file);
	return fscanf(file, "%" SCNu64, &bytes) == 1 ? bytes : 0;
}

static int group_add(struct group_list *list, const char *path, int dir, uint64_t bytes)
{
	struct group group = {.bytes = bytes};
	struct stat st;

	if (list->count >= GROUPS_MAX) {
		list->left_out++;
		return 0;
	}
	if (!RESERVE_ITEM(list->items, list->count, list->room, 64))
		return -ENOMEM;
	group.path = strdup(*path ? path : "/");
	if (!group.path)
		return -ENOMEM;
	if (!fstat(dir, &st))
		group.id = st.st_ino;
	list->items[list->count++] = group;
	return 0;
}

/* A group that goes away meanwhile is none. Adds to *total what the group has, with those below. */
static int group_walk_into(struct group_walk *walk, int fd, uint64_t *total)
{
	const size_t len = strlen(walk->path);
	uint64_t bytes = group_read_bytes(fd, walk->version), below = 0;
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	while (!err && walk->depth < GROUP_DEPTH && (entry = readdir(dir)) != NULL) {
		int child;

		if (entry->d_type != DT_DIR || *entry->d_name == '.' ||
		    len + strlen(entry->d_name) + 2 > sizeof(walk->path))
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0)
			continue;
		snprintf(walk->path + len, sizeof(walk->path) - len, "/%s", entry->d_name);
		walk->depth++;
		err = group_walk_into(walk, child, &below);
		walk->depth--;
		walk->path[len] = '\0';
	}
	err = err ?: group_add(walk->list, walk->path, fd, bytes > below ? bytes - below : 0);
	*total += bytes > below ? bytes : below;
	closedir(dir);
	return err;
}

static void group_list_empty(struct group_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	list->count = list->left_out = 0;
}

int group_list_walk(struct group_list *list, const char *root, int version)
{
	struct group_walk walk = {.list = list, .version = version};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t total = 0;

	group_list_empty(list);
	return fd < 0 ? 0 : group_walk_into(&walk, fd, &total);
}

/* Version 1 where it has the memory controller. */
static int group_find_root(char root[static GROUP_PATH])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *mount;
	int version = 0;

	while (mounts && version != 1 && (mount = getmntent(mounts)) != NULL) {
		int now = !strcmp(mount->mnt_type, "cgroup2")				     ? 2
			  : !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "memory") ? 1
											     : 0;

		if (!now || (version && now == 2))
			continue;
		version = now;
		snprintf(root, GROUP_PATH, "%s", mount->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return version;
}

int group_list_read(struct group_list *list)
{
	char root[GROUP_PATH] = "";
	int version = group_find_root(root);

	return version ? group_list_walk(list, root, version) : 0;
}

void group_list_free(struct group_list *list)
{
	group_list_empty(list);
	free(list->items);
	*list = (struct group_list){0};
}

const struct group *group_list_find(const struct group_list *list, uint64_t id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].id == id)
			return &list->items[i];
	}
	return NULL;
}
