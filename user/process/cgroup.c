// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

#define ID_LEN	 64
#define UUID_LEN 36

/* Above it a v1 limit means none: the kernel's PAGE_COUNTER_MAX, rounded down to a page. */
#define V1_UNLIMITED ((uint64_t)INT64_MAX / 4096 * 4096)

/* One component of a path, not NUL-terminated. */
struct part {
	const char *text;
	size_t len;
};

static bool part_has_suffix(struct part part, const char *suffix)
{
	size_t len = strlen(suffix);

	return part.len > len && !memcmp(part.text + part.len - len, suffix, len);
}

static bool cut_prefix(struct part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	if (part->len < len || memcmp(part->text, prefix, len) != 0)
		return false;
	part->text += len;
	part->len -= len;
	return true;
}

static bool cut_suffix(struct part *part, const char *suffix)
{
	if (!part_has_suffix(*part, suffix))
		return false;
	part->len -= strlen(suffix);
	return true;
}

/* Exactly 64: 32 hex digits may be anything. */
bool cgroup_is_container_id(const char *text)
{
	for (size_t i = 0; i < ID_LEN; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static void copy_part(struct part part, char *out, size_t size)
{
	if (part.len >= size)
		part.len = size - 1;
	memcpy(out, part.text, part.len);
	out[part.len] = '\0';
}

static bool is_container_id(struct part part)
{
	return part.len == ID_LEN && cgroup_is_container_id(part.text);
}

/* ---- containers and pods ------------------------------------------------------------------ */

static void set_container(struct cgroup *out, const char *runtime, struct part id)
{
	snprintf(out->runtime, sizeof(out->runtime), "%s", runtime);
	copy_part(id, out->container, sizeof(out->container));
}

/*
 * The text SLICE:RUNTIME in SLICE:RUNTIME:ID. runc's cgroupfs driver makes such a name when it got
 * the systemd driver's.
 */
static const char *runtime_before(struct part part)
{
	static const char *const forms[][2] = {
		{":cri-containerd", "containerd"},
		{":docker", "docker"},
		{":crio", "cri-o"},
		{":libpod", "podman"},
		{":nerdctl", "containerd"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (part_has_suffix(part, forms[i][0]))
			return forms[i][1];
	}
	return "";
}

/*
 * "docker-<id>.scope", "cri-containerd-<id>", "…:cri-containerd:<id>" …; "crio-conmon-<id>" is the
 * monitor, not the container.
 */
static void name_container(struct part part, struct part parent, struct cgroup *out)
{
	static const struct {
		const char *prefix, *runtime;
	} forms[] = {
		{"docker-", "docker"}, {"cri-containerd-", "containerd"}, {"crio-", "cri-o"},
		{"libpod-", "podman"}, {"nerdctl-", "containerd"},	  {"", ""},
	};
	const char *colon = memrchr(part.text, ':', part.len);
	struct part id = part;

	cut_suffix(&id, ".scope");
	if (colon) {
		struct part after = {colon + 1, part.len - (size_t)(colon + 1 - part.text)};
		struct part before = {part.text, (size_t)(colon - part.text)};

		if (is_container_id(after))
			set_container(out, runtime_before(before), after);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct part rest = id;

		if (!cut_prefix(&rest, forms[i].prefix) || !is_container_id(rest))
			continue;
		if (!*forms[i].prefix && parent.len == 6 && !memcmp(parent.text, "docker", 6))
			set_container(out, "docker", rest);
		else
			set_container(out, forms[i].runtime, rest);
		return;
	}
}

/* "/lxc/NAME", "/lxc.payload.NAME", "/lxc.payload/NAME"; "lxc.monitor" is not the container. */
static void name_lxc(struct part part, struct part parent, struct cgroup *out)
{
	struct part name = part;
	bool below = (parent.len == 3 && !memcmp(parent.text, "lxc", 3)) ||
		     (parent.len == 11 && !memcmp(parent.text, "lxc.payload", 11));

	if ((below || cut_prefix(&name, "lxc.payload.")) && name.len)
		set_container(out, "lxc", name);
}

/*
 * A pod's uid is a UUID; in names of slices its dashes are underscores. Static pods have the 32
 * digits of a hash.
 */
static bool set_pod(struct cgroup *out, struct part uid)
{
	char text[sizeof(out->pod)];

	if (uid.len != UUID_LEN && uid.len != 32)
		return false;
	copy_part(uid, text, sizeof(text));
	for (char *c = text; *c; c++) {
		if (*c == '_')
			*c = '-';
		if (!isxdigit((unsigned char)*c) && *c != '-')
			return false;
	}
	memcpy(out->pod, text, sizeof(text));
	return true;
}

static void name_pod(struct part part, struct cgroup *out)
{
	const char *colon = memchr(part.text, ':', part.len), *below;

	if (colon)
		part.len = (size_t)(colon - part.text);
	/* "kubelet-kubepods-…": the kubelet's --cgroup-root, which kind sets. */
	below = memmem(part.text, part.len, "-kubepods", 9);
	if (below) {
		part.len -= (size_t)(below + 1 - part.text);
		part.text = below + 1;
	}
	if (cut_prefix(&part, "kubepods")) {
		cut_suffix(&part, ".slice");
		if (!cut_prefix(&part, "-besteffort"))
			cut_prefix(&part, "-burstable");
		if (!cut_prefix(&part, "-"))
			return;
	}
	if (cut_prefix(&part, "pod"))
		set_pod(out, part);
}

/* ---- units -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* systemd.unit(5): \x2d in a unit's name is a dash. */
static void cgroup_unescape(struct part part, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < part.len && n + 1 < size; i++) {
		const char *c = part.text + i;

		if (part.len - i >= 4 && c[0] == '\\' && c[1] == 'x' &&
		    isxdigit((unsigned char)c[2]) && isxdigit((unsigned char)c[3])) {
			out[n++] = (char)(hex_digit(c[2]) << 4 | hex_digit(c[3]));
			i += 3;
		} else {
			out[n++] = *c;
		}
	}
	out[n] = '\0';
}

static void name_unit(struct part part, struct cgroup *out)
{
	static const char *const kinds[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (part_has_suffix(part, kinds[i]))
			cgroup_unescape(part, out->unit, sizeof(out->unit));
	}
}

/* The innermost of each kind counts: a container in a pod, a service of a user's own systemd. */
void cgroup_name_path(const char *path, struct cgroup *out)
{
	struct part parent = {"", 0};
	char unit[sizeof(out->unit)];

	out->unit[0] = out->runtime[0] = out->container[0] = out->pod[0] = '\0';
	while (*path) {
		struct part part = {path, strcspn(path, "/")};

		path += part.len + (path[part.len] == '/');
		if (!part.len)
			continue;
		memcpy(unit, out->unit, sizeof(unit));
		name_unit(part, out);
		name_pod(part, out);
		name_container(part, parent, out);
		name_lxc(part, parent, out);
		/* A container's own scope is not a unit that anybody wrote. */
		if (out->container[0] && memcmp(unit, out->unit, sizeof(unit)) != 0 &&
		    strstr(out->unit, out->container))
			memcpy(out->unit, unit, sizeof(unit));
		parent = part;
	}
}

/* ---- the file ----------------------------------------------------------------------------- */

enum line_rank { /* which line tells most, best first */
		 LINE_KUBEPODS,
		 LINE_UNIFIED,
		 LINE_CPU,
		 LINE_MEMORY,
		 LINE_SYSTEMD,
		 LINE_OTHER,
		 /* "/" says nothing; on hybrid machines the unified one is that nearly always */
		 LINE_ROOT,
		 LINE_NONE,
};

static bool has_controller(struct part list, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i + len <= list.len; i++) {
		if ((i == 0 || list.text[i - 1] == ',') && !memcmp(list.text + i, name, len) &&
		    (i + len == list.len || list.text[i + len] == ','))
			return true;
	}
	return false;
}

static enum line_rank rank_line(bool unified, struct part controllers, struct part path)
{
	bool cpu = has_controller(controllers, "cpu"),
	     memory = has_controller(controllers, "memory");

	if (path.len <= 1)
		return LINE_ROOT;
	if ((cpu || memory) && memmem(path.text, path.len, "kubepods", 8))
		return LINE_KUBEPODS;
	if (unified)
		return LINE_UNIFIED;
	if (cpu)
		return LINE_CPU;
	if (memory)
		return LINE_MEMORY;
	return has_controller(controllers, "name=systemd") ? LINE_SYSTEMD : LINE_OTHER;
}

/* "HIERARCHY:CONTROLLERS:PATH", cgroups(7). */
static void cgroup_parse_line(struct part line, enum line_rank *best, struct cgroup *out)
{
	const char *first = memchr(line.text, ':', line.len), *second;
	struct part controllers, path;
	enum line_rank rank;
	bool unified;

	if (!first)
		return;
	second = memchr(first + 1, ':', line.len - (size_t)(first + 1 - line.text));
	if (!second || second[1] != '/')
		return;
	controllers = (struct part){first + 1, (size_t)(second - first - 1)};
	path = (struct part){second + 1, line.len - (size_t)(second + 1 - line.text)};
	if (path.len >= CGROUP_PATH_MAX)
		return;
	unified = first - line.text == 1 && line.text[0] == '0' && !controllers.len;
	rank = rank_line(unified, controllers, path);
	if (rank < *best) {
		*best = rank;
		copy_part(path, out->path, sizeof(out->path));
	}
	if (has_controller(controllers, "memory") || (unified && out->version != 1)) {
		out->version = unified ? 2 : 1;
		copy_part(path, out->memory, sizeof(out->memory));
	}
}

void cgroup_parse(const char *text, struct cgroup *out)
{
	enum line_rank best = LINE_NONE;

	memset(out, 0, sizeof(*out));
	while (*text) {
		struct part line = {text, strcspn(text, "\n")};

		text += line.len + (text[line.len] == '\n');
		cgroup_parse_line(line, &best, out);
	}
	cgroup_name_path(out->path, out);
}

static int read_small(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	while (used + 1 < size) {
		ssize_t n = read(fd, text + used, size - 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
	}
	text[used] = '\0';
	return 0;
}

int cgroup_read(pid_t pid, struct cgroup *out)
{
	char path[32], text[8192];
	int err;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	err = read_small(path, text, sizeof(text));
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	cgroup_parse(text, out);
	return 0;
}

bool cgroup_is_below(const char *path, const char *group)
{
	size_t len = strlen(group);

	while (len > 1 && group[len - 1] == '/')
		len--;
	if (len == 1 && *group == '/')
		return *path == '/';
	return !strncmp(path, group, len) && (path[len] == '\0' || path[len] == '/');
}

bool cgroup_in_container(const struct cgroup *cgroup, const char *name, const char *wanted)
{
	if (!cgroup->container[0])
		return false;
	return !strcmp(name, wanted) || !strncmp(cgroup->container, wanted, strlen(wanted));
}

bool cgroup_in_unit(const struct cgroup *cgroup, const char *wanted)
{
	size_t len = strlen(wanted);

	return cgroup->unit[0] && !strncmp(cgroup->unit, wanted, len) &&
	       (cgroup->unit[len] == '\0' ||
		(cgroup->unit[len] == '.' && !strchr(cgroup->unit + len + 1, '.')));
}

/* ---- limits ------------------------------------------------------------------------------- */

static int cgroup_read_number(const char *directory, const char *file, uint64_t *value)
{
	char path[2 * CGROUP_PATH_MAX], text[64];
	int err;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	err = read_small(path, text, sizeof(text));
	if (err)
		return err;
	/* "max": no limit */
	return sscanf(text, "%" SCNu64, value) == 1 ? 0 : -ENOENT;
}

/* Bytes of files that the kernel gives up before it stops anybody. */
static uint64_t cgroup_reclaimable(const char *directory, int version)
{
	const char *name = version == 2 ? "inactive_file " : "total_inactive_file ";
	char path[2 * CGROUP_PATH_MAX], text[8192];
	const char *line = text;
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	if (read_small(path, text, sizeof(text)))
		return 0;
	while (line && strncmp(line, name, strlen(name)) != 0) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return line && sscanf(line + strlen(name), "%" SCNu64, &bytes) == 1 ? bytes : 0;
}

static bool cgroup_left_in(const char *directory, int version, struct cgroup_memory *out)
{
	static const char *const limits[][3] = {
		[1] = {"memory.limit_in_bytes", NULL},
		[2] = {"memory.max", "memory.high", NULL},
	};
	uint64_t limit, least = UINT64_MAX, usage, reclaimable;

	for (size_t i = 0; limits[version][i]; i++) {
		if (cgroup_read_number(directory, limits[version][i], &limit) || limit >= least ||
		    (version == 1 && limit >= V1_UNLIMITED))
			continue;
		least = limit;
		out->limit = limits[version][i];
	}
	if (least == UINT64_MAX ||
	    cgroup_read_number(directory, version == 2 ? "memory.current" : "memory.usage_in_bytes",
			       &usage))
		return false;
	reclaimable = cgroup_reclaimable(directory, version);
	usage = usage > reclaimable ? usage - reclaimable : 0;
	out->left = least > usage ? least - usage : 0;
	snprintf(out->directory, sizeof(out->directory), "%s", directory);
	return true;
}

int cgroup_memory_left(const struct cgroup *cgroup, struct cgroup_memory *out)
{
	static const char *const mounts[][3] = {
		[1] = {"/sys/fs/cgroup/memory", NULL},
		[2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL},
	};
	bool found = false;

	/* A path with ".." leads out of our own view of the hierarchy. */
	if (!cgroup->version || strstr(cgroup->memory, "/.."))
		return -ENOENT;
	for (size_t m = 0; mounts[cgroup->version][m] && !found; m++) {
		const char *mount = mounts[cgroup->version][m];
		char directory[CGROUP_PATH_MAX + 32];
		size_t top = strlen(mount);

		snprintf(directory, sizeof(directory), "%s%s", mount, cgroup->memory);
		for (;;) {
			char *slash;
			struct cgroup_memory here;

			if (cgroup_left_in(directory, cgroup->version, &here) &&
			    (!found || here.left < out->left)) {
				*out = here;
				found = true;
			}
			slash = strrchr(directory, '/');
			if (!slash || (size_t)(slash - directory) < top)
				break;
			*slash = '\0';
		}
	}
	return found ? 0 : -ENOENT;
}
