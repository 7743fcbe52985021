/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose process is it? The systemd unit, container and Kubernetes pod, by the path of its control
 * group. systemd, Docker, containerd, CRI-O, Podman, LXC and the kubelet make these paths (their
 * cgroup drivers' sources and cgroups(7)). Names that people gave: container_name.h.
 */
#ifndef MEMLEAKBPF_PROCESS_CGROUP_H
#define MEMLEAKBPF_PROCESS_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

#define CGROUP_PATH_MAX 512
#define CGROUP_ID_MAX	65 /* 64 hex digits */

struct cgroup {
	char path[CGROUP_PATH_MAX];   /* the one that tells most; "" when unknown */
	char memory[CGROUP_PATH_MAX]; /* of the memory controller; "" when unknown */
	char unit[128];		      /* systemd unit, unescaped: "nginx.service"; "" none */
	char runtime[16]; /* "docker", "containerd", "cri-o", "podman", "lxc"; "" unknown */
	char container[CGROUP_ID_MAX]; /* 64 hex digits, for LXC the name; "" none */
	char pod[40];		       /* Kubernetes pod's uid; "" none */
	int version;		       /* of the memory controller's hierarchy: 1, 2; 0 unknown */
};

/* Reads /proc/PID/cgroup. 0, or -errno, not logged: -ESRCH when the process is gone. */
int cgroup_read(pid_t pid, struct cgroup *out);

/* Parses the text of that file; for cgroup_read() and tests. Leaves out lines that do not parse. */
void cgroup_parse(const char *text, struct cgroup *out);

/* Sets unit, runtime, container and pod from one path. */
void cgroup_name_path(const char *path, struct cgroup *out);

/* Are the first 64 characters an engine's id of a container? A shorter text is none. */
bool cgroup_is_container_id(const char *text);

/* "/a" holds "/a" and "/a/b", not "/ab". */
bool cgroup_is_below(const char *path, const char *group);

/*
 * Is the group in the container of that name, or whose id begins so? `name`: the container's, ""
 * when unknown.
 */
bool cgroup_in_container(const struct cgroup *cgroup, const char *name, const char *wanted);

/* Is the group in the unit of that name: "nginx.service", or without its kind "nginx"? */
bool cgroup_in_unit(const struct cgroup *cgroup, const char *wanted);

/* How much more memory a group may take, and which limit stops it then. */
struct cgroup_memory {
	uint64_t left;	   /* in bytes; without the files that the kernel would drop */
	const char *limit; /* the limit's file: "memory.max" */
	char directory[CGROUP_PATH_MAX + 32]; /* ... and where it is: the group's, or one above */
};

/*
 * Finds the limit that leaves the group least, among its own and those of the groups above. 0;
 * -ENOENT when nothing limits it or no limit can be read.
 */
int cgroup_memory_left(const struct cgroup *cgroup, struct cgroup_memory *out);

#endif
