/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names of a machine's containers, as a container runtime tells them over its socket. It speaks
 * Docker's API (GET /containers/json), which Podman and cri-dockerd's Docker have too. The
 * kubelet's runtimes speak gRPC, which we do not: container_name.h finds their names.
 */
#ifndef MEMLEAKBPF_PROCESS_CONTAINER_LIST_H
#define MEMLEAKBPF_PROCESS_CONTAINER_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "user/process/container_name.h"

struct container_list;

/*
 * Asks at the AF_UNIX socket `path`, and waits timeout_ns at most for the whole answer. 0 with *out
 * the caller's; else -errno, not logged. -EFBIG: more than 4 MiB, or than fits 4,096 containers.
 * -EPROTO: not such an answer. -ETIME.
 */
int container_list_ask(const char *path, uint64_t timeout_ns, struct container_list **out);

/* Parses an answer's body; for container_list_ask() and tests. 0, -EPROTO, -EFBIG or -ENOMEM. */
int container_list_parse(const char *text, size_t size, struct container_list **out);

void container_list_free(struct container_list *list); /* NULL is fine */

size_t container_list_count(const struct container_list *list);

/* The name belongs to the list. NULL: the list, which may be NULL, has no such container. */
const struct container_name *container_list_find(const struct container_list *list, const char *id);

#endif
