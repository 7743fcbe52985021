/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process as the survey sees it at one time. */
#ifndef MEMLEAKBPF_MODEL_PROCESS_H
#define MEMLEAKBPF_MODEL_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_sample {
	pid_t pid, ppid; /* in the initial pid namespace; ppid 0: none */
	uint64_t
		start_ticks; /* since boot, in clock ticks: with the pid it names a process for good */
	uid_t uid;	     /* effective */
	unsigned threads;
	char comm[16];
	/* Bytes. Anonymous memory, resident and swapped out, is what leaks; shared memory is shown beside it. */
	uint64_t anon, swap, shmem;
};

/* All processes that have memory of their own, at one time. */
struct process_list {
	struct process_sample *items; /* by pid */
	size_t count, room;
};

#endif
