/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The record that the survey's iterator writes for each process, back to back; and the counts of
 * exited processes.
 */
#ifndef MEMLEAKBPF_BPF_SURVEY_SURVEY_ABI_H
#define MEMLEAKBPF_BPF_SURVEY_SURVEY_ABI_H

#include "bpf/types.h"

#define SURVEY_MAX_PARENTS 8192 /* processes whose children have exited, between two looks */

struct survey_record {
	uint64_t start_ns; /* task_struct.start_boottime of the process's first thread */
	int64_t anon, swap, shmem, file; /* pages */
	uint32_t pid, ppid;		 /* in the initial pid namespace */
	uint32_t uid, ruid;		 /* effective, real */
	uint32_t threads, pad;
	char comm[16];
};
_Static_assert(sizeof(struct survey_record) == 80, "ABI");

/*
 * Map `exits`: by parent, the sums of its children. A child that has exited has left its own
 * children's sums to its parent.
 */
struct survey_parent {
	uint64_t start_ns; /* as in survey_record */
	uint32_t pid, pad;
};
_Static_assert(sizeof(struct survey_parent) == 16, "ABI");

struct survey_exits {
	uint64_t count;
	uint64_t peak; /* pages: the largest resident set of one of them */
};
_Static_assert(sizeof(struct survey_exits) == 16, "ABI");

#endif
