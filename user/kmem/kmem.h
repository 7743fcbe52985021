/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `memleakbpf kernel`: who in the kernel allocates what is not freed. */
#ifndef MEMLEAKBPF_KMEM_KMEM_H
#define MEMLEAKBPF_KMEM_KMEM_H

#include "user/session/session_config.h"

/* What is recorded, and from when on. */
struct kmem_probes_config {
	bool at_once;		   /* not only when something grows */
	unsigned kinds;		   /* bits of enum kernel_kind; 0: what grows, or the usual ones */
	struct string_list caches; /* lists of names with commas between; empty: all */
};

struct kmem_config {
	struct pace_config pace;
	struct pid_list pids; /* with probes: what these processes' system calls leave behind */
	struct select_config select; /* groups; its names are found already */
	bool drill;		     /* probes on what grows */
	uint64_t sample_bytes;	     /* 0: every allocation */
	uint32_t budget;	     /* what probes may take, in thousandths of a CPU; 0: all */
	struct kmem_probes_config probes;
	int error_exitcode; /* if a stack leaks; 0: not given */
	struct show_config show;
};

/*
 * Looks until it is to stop. Signals are blocked already (loop_block_signals()). The exit status: 0,
 * 1 (logged), or the config's error_exitcode.
 */
int kmem_run(const struct kmem_config *config);

#endif
