/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The publisher's backend that writes to BPF maps. */
#ifndef MEMLEAKBPF_UNWIND_PUBLISH_BPF_H
#define MEMLEAKBPF_UNWIND_PUBLISH_BPF_H

#include "user/unwind/publish.h"

struct first_chunks;

/*
 * Descriptors of the maps in bpf/unwind.bpf.c. They stay the caller's and must outlive the
 * publisher.
 */
struct unwind_map_fds {
	int chunks, rules, targets, objects;
};

/*
 * A publisher for loaded BPF programs. first: what fds->chunks was made with, the publisher's from now
 * on, or NULL. no_tables: see unwind_backend. 0 or -errno, logged.
 */
int unwind_publisher_new_bpf(const struct unwind_map_fds *fds, struct first_chunks *first,
			     bool no_tables, struct unwind_publisher **out);

#endif
