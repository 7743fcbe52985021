// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory.events.local: Documentation/admin-guide/cgroup-v2.rst. */
#include "user/process/cgroup_ooms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

#define CGROUP_OOMS_FILE_MAX (CGROUP_PATH_MAX + 128)

/* NULL: there is no such file, or it cannot be read. */
static FILE *cgroup_ooms_open(const struct cgroup_ooms *o, const char *path, const char *file)
{
	char name[CGROUP_OOMS_FILE_MAX];

	snprintf(name, sizeof(name), "%s%s/%s", o->mount, path, file);
	return fopen(name, "re");
}

/* The group above; false: there is none. */
static bool cgroup_ooms_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

static int cgroup_ooms_count(const struct cgroup_ooms *o, const char *path, uint64_t *count)
{
	_cleanup_fclose_ FILE *file = cgroup_ooms_open(o, path, "memory.events.local");
	char line[64];

	if (!file)
		return -ENOENT;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "oom %" SCNu64, count) == 1)
			return 0;
	}
	return -ENOENT;
}

/* The top one has no limit and no such file. */
static int cgroup_ooms_fill(struct cgroup_ooms *o)
{
	char path[CGROUP_PATH_MAX];

	snprintf(path, sizeof(path), "%s", o->path);
	for (o->depth = 0; path[1]; o->depth++) {
		int err = o->depth < CGROUP_OOMS_MAX
				  ? cgroup_ooms_count(o, path, &o->counts[o->depth])
				  : -E2BIG;

		if (err)
			return err;
		if (!cgroup_ooms_up(path))
			return -EINVAL;
	}
	return 0;
}

int cgroup_ooms_read_group(const char *mount, const char *path, struct cgroup_ooms *out)
{
	/* A path with ".." leads out of our own view of the hierarchy. */
	if (*path != '/' || strstr(path, "/.."))
		return -ENOENT;
	out->mount = mount;
	snprintf(out->path, sizeof(out->path), "%s", path);
	return cgroup_ooms_fill(out);
}

int cgroup_ooms_read(pid_t pid, struct cgroup_ooms *out)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct cgroup cgroup;
	int err = cgroup_read(pid, &cgroup);

	if (!err && cgroup.version != 2)
		err = -ENOENT;
	if (err)
		return err;
	err = cgroup_ooms_read_group(mounts[0], cgroup.memory, out);
	return err ? cgroup_ooms_read_group(mounts[1], cgroup.memory, out) : 0;
}

int cgroup_ooms_since(const struct cgroup_ooms *before, char path[static CGROUP_PATH_MAX],
		      uint64_t *limit)
{
	struct cgroup_ooms now = {.mount = before->mount};
	_cleanup_fclose_ FILE *file = NULL;
	int err;

	snprintf(now.path, sizeof(now.path), "%s", before->path);
	err = cgroup_ooms_fill(&now);
	if (err)
		return err;
	snprintf(path, CGROUP_PATH_MAX, "%s", before->path);
	for (size_t i = 0; i < now.depth; i++) {
		if (now.counts[i] > before->counts[i])
			break;
		if (i + 1 == now.depth || !cgroup_ooms_up(path))
			return 0;
	}
	if (!now.depth)
		return 0;
	*limit = 0;
	file = cgroup_ooms_open(before, path, "memory.max");
	if (file && fscanf(file, "%" SCNu64, limit) != 1)
		*limit = 0; /* "max": it has been lifted since */
	return 1;
}
