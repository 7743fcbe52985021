/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the survey's iterator writes for each process, back to back. */
#ifndef MEMLEAKBPF_BPF_SURVEY_ABI_H
#define MEMLEAKBPF_BPF_SURVEY_ABI_H

#include "bpf/abi.h"

#define SURVEY_MAX_CPUS 4096

struct survey_record {
	uint64_t start_ns; /* task_struct.start_boottime of the process's first thread */
	int64_t anon, swap, shmem, file; /* pages */
	uint32_t pid, ppid;		 /* in the initial pid namespace */
	uint32_t uid;			 /* effective */
	uint32_t threads;
	char comm[16];
};
_Static_assert(sizeof(struct survey_record) == 72, "ABI");

#endif
