/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on the kernel's allocations: raw tracepoints. Nothing of them outlives the process, however
 * it ends.
 */
#ifndef MEMLEAKBPF_KMEM_KMEM_PROBE_H
#define MEMLEAKBPF_KMEM_KMEM_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kmem/kmem_abi.h"
#include "user/base/reason.h"
#include "user/model/kernel_report.h"

struct kmem_probe;

struct kmem_probe_options {
	uint64_t sample_bytes; /* 0: every allocation */
	const pid_t *pids;     /* these processes only */
	size_t pid_count;      /* 0: all */
};

/*
 * Loads the programs and their tables, and attaches nothing yet. 0, with a reason where a kind was
 * refused that is done without; -errno with the reason: which part was refused, and how. Logs
 * nothing.
 */
int kmem_probe_open(const struct kmem_probe_options *options, struct kmem_probe **out,
		    char reason[static REASON_MAX]);
void kmem_probe_close(struct kmem_probe *probe); /* NULL is fine */

/* Which kinds this kernel lets us follow: bits of enum kernel_kind. */
unsigned kmem_probe_kinds(const struct kmem_probe *probe);

/*
 * Attaches to the events of these kinds, with empty books. Until then nothing costs anything. 0;
 * -errno with the reason; then nothing is attached.
 */
int kmem_probe_attach(struct kmem_probe *probe, unsigned kinds, char reason[static REASON_MAX]);
void kmem_probe_detach(struct kmem_probe *probe);

/* Live blocks at one time, in no order. */
struct kmem_blocks {
	struct kmem_live *items;
	size_t count, room;
	uint64_t now_ns; /* by the clock of their time_ns */
};

/* Reads them; the array is the caller's to free and may be used again. 0 or -errno, logged. */
int kmem_probe_read(struct kmem_probe *probe, struct kmem_blocks *out);

/* false: the stack, or the cache, is not known. */
bool kmem_probe_stack(const struct kmem_probe *probe, uint64_t id, struct kmem_stack *out);
bool kmem_probe_cache(const struct kmem_probe *probe, uint64_t cache, struct kmem_cache_name *out);

struct kmem_counts {
	uint64_t lost[KERNEL_LOST_CAUSES];
	uint64_t frees_unseen, split;
};

void kmem_probe_counts(const struct kmem_probe *probe, struct kmem_counts *out);

uint64_t kmem_probe_sample_bytes(const struct kmem_probe *probe);
/* From now on; what is live already keeps what it stands for. */
void kmem_probe_set_sample_bytes(struct kmem_probe *probe, uint64_t bytes);

/*
 * Measures what the probes take, until the next call of kmem_probe_measured(). The kernel counts the
 * run time of every BPF program on the machine meanwhile, which costs 20 ns a run. 0 or -errno.
 */
int kmem_probe_measure(struct kmem_probe *probe);
/* The share of one CPU since kmem_probe_measure(); negative: it was not measured. */
double kmem_probe_measured(struct kmem_probe *probe);

#endif
