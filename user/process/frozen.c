// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/frozen.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "user/base/util.h"
#include "user/process/proc.h"

/* Reads a short file; true: there is something in it. */
static bool frozen_read(const char *path, char *text, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t used = file ? fread(text, 1, size - 1, file) : 0;

	text[used] = '\0';
	return used != 0;
}

/* ---- where it is -------------------------------------------------------------------------- */

static bool frozen_has_controller(char *list, const char *name)
{
	char *rest = NULL;

	for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(one, name))
			return true;
	}
	return false;
}

/* "HIERARCHY:CONTROLLERS:PATH", cgroups(7). */
static void frozen_parse_line(char *line, struct frozen_paths *out)
{
	char *controllers = strchr(line, ':'),
	     *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path || path[1] != '/' || strlen(path + 1) >= CGROUP_PATH_MAX)
		return;
	*controllers++ = '\0';
	*path++ = '\0';
	if (!strcmp(line, "0") && !*controllers)
		snprintf(out->v2, sizeof(out->v2), "%s", path);
	else if (frozen_has_controller(controllers, "freezer"))
		snprintf(out->v1, sizeof(out->v1), "%s", path);
}

void frozen_parse(const char *text, struct frozen_paths *out)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = NULL;

	*out = (struct frozen_paths){0};
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		frozen_parse_line(line, out);
}

/* ---- what its groups say ------------------------------------------------------------------- */

struct freezer {
	int version;
	long magic;	       /* of its file system */
	const char *asked;     /* of the file system */
	const char *mounts[3]; /* where it usually is */
};

static const struct freezer freezers[] = {
	{2, CGROUP2_SUPER_MAGIC, "cgroup.freeze", {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}},
	{1, CGROUP_SUPER_MAGIC, "freezer.self_freezing", {"/sys/fs/cgroup/freezer"}},
};

static const char *freezer_mount(const struct freezer *freezer)
{
	struct statfs st;

	for (size_t i = 0; freezer->mounts[i]; i++) {
		if (!statfs(freezer->mounts[i], &st) && (long)st.f_type == freezer->magic)
			return freezer->mounts[i];
	}
	return NULL;
}

/*
 * 1: the group, or the one above that *out names, is to be frozen, and so is all that runs in it
 * from then on. 0: none is. -1: they cannot be seen from here.
 */
static int freezer_ask(const struct freezer *freezer, const char *path, struct frozen *out)
{
	const char *mount = freezer_mount(freezer);
	char group[CGROUP_PATH_MAX], file[CGROUP_PATH_MAX + 64], text[16];
	bool seen = false;

	/* A path with ".." leads out of our own view of the hierarchy. */
	if (!mount || strstr(path, "/.."))
		return -1;
	snprintf(group, sizeof(group), "%s", path);
	/* The root has no such file. */
	while (group[0] && group[1]) {
		snprintf(file, sizeof(file), "%s%s/%s", mount, group, freezer->asked);
		if (frozen_read(file, text, sizeof(text))) {
			seen = true;
			if (*text == '1') {
				*out = (struct frozen){.version = freezer->version};
				memcpy(out->group, group, sizeof(group));
				return 1;
			}
		}
		*strrchr(group, '/') = '\0';
	}
	return seen || !path[1] ? 0 : -1;
}

/* ---- what the thread itself says ------------------------------------------------------------ */

/* A compiler may have made a variant of the function: do_freezer_trap.isra.0. */
static bool frozen_is_function(const char *text, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(text, name, length) && (!text[length] || text[length] == '.');
}

/*
 * Goes by the kernel function in which the thread sleeps, proc_pid_wchan(5), if we may see that.
 * The newer freezer's trap is mostly inlined into its only caller, in which nobody else sleeps
 * interruptibly. The older freezer leaves threads that slept already where they slept.
 */
static bool frozen_by_place(pid_t tid, struct frozen *out)
{
	static const struct {
		const char *function;
		char state;
		int version;
	} places[] = {
		{"do_freezer_trap", 'S', 2}, {"get_signal", 'S', 2}, {"__refrigerator", 'D', 1}};
	char path[64], text[64];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)tid);
	if (!frozen_read(path, text, sizeof(text)) || proc_stat(tid, &stat))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (stat.state != places[i].state || !frozen_is_function(text, places[i].function))
			continue;
		*out = (struct frozen){.version = places[i].version};
		return true;
	}
	return false;
}

bool frozen_look(pid_t tid, struct frozen *out)
{
	struct frozen_paths paths;
	char path[64], text[8192];
	bool unseen = false;

	*out = (struct frozen){0};
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)tid);
	if (!frozen_read(path, text, sizeof(text)))
		return false;
	frozen_parse(text, &paths);
	for (size_t i = 0; i < ARRAY_SIZE(freezers); i++) {
		const char *group = freezers[i].version == 2 ? paths.v2 : paths.v1;
		int asked = *group ? freezer_ask(&freezers[i], group, out) : 0;

		if (asked > 0)
			return true;
		unseen |= asked < 0;
	}
	return unseen && frozen_by_place(tid, out);
}
