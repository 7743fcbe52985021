/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process as the survey sees it at one time. */
#ifndef MEMLEAKBPF_MODEL_PROCESS_SAMPLE_H
#define MEMLEAKBPF_MODEL_PROCESS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_sample {
	pid_t pid, ppid; /* in the initial pid namespace; ppid 0: none */
	/* since boot, in clock ticks: with the pid it names a process for good */
	uint64_t start_ticks;
	uid_t uid;  /* effective */
	uid_t ruid; /* real: who started it; not in recordings */
	unsigned threads;
	char comm[16]; /* a string */
	/*
	 * Bytes. Leaks are in anonymous memory, resident and swapped out; shared memory is shown
	 * beside it.
	 */
	uint64_t anon, swap, shmem;
	uint64_t rss; /* bytes resident in all, files included; 0: unknown */
	/*
	 * Children, and theirs, that have exited since the source was opened: how many, and the
	 * largest resident set of one.
	 */
	uint64_t exited, exited_peak;
};

/* All processes that have memory of their own, at one time. */
struct process_list {
	struct process_sample *items; /* by pid */
	size_t count, room;
	bool exits_known;    /* the samples' `exited` says something */
	uint64_t exits_lost; /* parents whose children's exits could not be counted, so far */
};

#endif
