/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names that people gave to a container and to its Kubernetes pod, by the container's id.
 * Docker, Podman and the kubelet keep them in files. container_list.h asks runtimes over their
 * sockets.
 */
#ifndef MEMLEAKBPF_PROCESS_CONTAINER_NAME_H
#define MEMLEAKBPF_PROCESS_CONTAINER_NAME_H

/* Kubernetes' names are DNS labels (63) and subdomains (253). */
#define CONTAINER_NAME_MAX 64
#define CONTAINER_POD_MAX  (63 + 1 + 253 + 1)

struct container_name {
	char name[CONTAINER_NAME_MAX]; /* longer ones are cut */
	char pod[CONTAINER_POD_MAX];   /* "NAMESPACE/POD"; "" none */
};

/*
 * Looks into the files below `root` ("" for this machine's). The kubelet's names are those of the
 * links in /var/log/containers. 0, or -ENOENT when no file knows the id.
 */
int container_name_find(const char *root, const char *id, struct container_name *out);

#endif
