/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which events this kernel has, and where they have their arguments. The kernel's types say it: an
 * event NAME has a type btf_trace_NAME, a function with the event's arguments. No version number is
 * asked.
 */
#ifndef MEMLEAKBPF_KMEM_KMEM_PROBE_EVENTS_H
#define MEMLEAKBPF_KMEM_KMEM_PROBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/kmem/kmem_abi.h"
#include "user/base/reason.h"
#include "user/model/kernel_report.h"

struct btf;

struct kmem_event {
	const char *name, *program; /* as the kernel calls it; of bpf/kmem/kmem.bpf.c */
	enum kernel_kind kind;
	bool frees;
	bool needed; /* its kind cannot be followed without it */
};

#define KMEM_EVENTS 12

struct kmem_events {
	const struct kmem_event *wanted[KMEM_EVENTS];
	size_t count;
	unsigned kinds; /* that can be followed: bits of enum kernel_kind */
	struct kmem_places places;
};

/*
 * The events for these kinds, by the running kernel's types. 0; -errno with the reason: none of the
 * kinds can be followed.
 */
int kmem_events_find(unsigned kinds, struct kmem_events *out, char reason[static REASON_MAX]);

/* The same by these types; for tests. */
int kmem_events_find_in(const struct btf *btf, unsigned kinds, struct kmem_events *out,
			char reason[static REASON_MAX]);

#endif
