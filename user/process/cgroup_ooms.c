// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory.events.local: Documentation/admin-guide/cgroup-v2.rst. memory.failcnt and
 * memory.memsw.failcnt: cgroup-v1/memory.rst.
 */
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

/* How often the limits of memory, and of memory and swap, were reached. */
static int cgroup_ooms_count_reached(const struct cgroup_ooms *o, const char *path, uint64_t *count)
{
	static const char *const files[] = {"memory.failcnt", "memory.memsw.failcnt"};
	uint64_t reached;

	*count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_fclose_ FILE *file = cgroup_ooms_open(o, path, files[i]);

		/* Kernels may do without the second one. */
		if (file && fscanf(file, "%" SCNu64, &reached) == 1)
			*count += reached;
		else if (!i)
			return -ENOENT;
	}
	return 0;
}

static int cgroup_ooms_count_kills(const struct cgroup_ooms *o, const char *path, uint64_t *count)
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

static int cgroup_ooms_count(const struct cgroup_ooms *o, const char *path, uint64_t *count)
{
	if (o->version == 1)
		return cgroup_ooms_count_reached(o, path, count);
	return cgroup_ooms_count_kills(o, path, count);
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

int cgroup_ooms_read_group(const char *mount, int version, const char *path,
			   struct cgroup_ooms *out)
{
	/* A path with ".." leads out of our own view of the hierarchy. */
	if (*path != '/' || strstr(path, "/.."))
		return -ENOENT;
	out->mount = mount;
	out->version = version;
	snprintf(out->path, sizeof(out->path), "%s", path);
	return cgroup_ooms_fill(out);
}

int cgroup_ooms_read(pid_t pid, struct cgroup_ooms *out)
{
	struct cgroup cgroup;
	int err = cgroup_read(pid, &cgroup);

	if (err)
		return err;
	if (cgroup.version == 1)
		return cgroup_ooms_read_group("/sys/fs/cgroup/memory", 1, cgroup.memory, out);
	if (cgroup.version != 2)
		return -ENOENT;
	err = cgroup_ooms_read_group("/sys/fs/cgroup", 2, cgroup.memory, out);
	return err ? cgroup_ooms_read_group("/sys/fs/cgroup/unified", 2, cgroup.memory, out) : 0;
}

int cgroup_ooms_since(const struct cgroup_ooms *before, char path[static CGROUP_PATH_MAX],
		      uint64_t *limit)
{
	struct cgroup_ooms now = {.mount = before->mount, .version = before->version};
	bool old = before->version == 1;
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
			return old ? -ENODATA : CGROUP_OOM_NONE;
	}
	if (!now.depth)
		return old ? -ENODATA : CGROUP_OOM_NONE;
	*limit = 0;
	file = cgroup_ooms_open(before, path, old ? "memory.limit_in_bytes" : "memory.max");
	if (file && fscanf(file, "%" SCNu64, limit) != 1)
		*limit = 0; /* "max": it has been lifted since */
	return old ? CGROUP_OOM_REACHED : CGROUP_OOM_LIMIT;
}
