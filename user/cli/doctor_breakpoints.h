/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of `doctor` that looks for breakpoints in the code of processes. A tool that is killed
 * with its whole control group while it puts probes in can leave some (user/kernel/unkillable.h).
 * Those of a running tool look the same.
 */
#ifndef MEMLEAKBPF_CLI_DOCTOR_BREAKPOINTS_H
#define MEMLEAKBPF_CLI_DOCTOR_BREAKPOINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The breakpoints of one process in one file's code. */
struct doctor_breakpoints {
	pid_t pid;
	char comm[16];
	char *path;	/* of the file; owned */
	size_t count;	/* 1 or more */
	uint64_t first; /* offset in the file */
};

struct doctor_breakpoint_list {
	struct doctor_breakpoints *items; /* owned */
	size_t count, room;
	size_t unread; /* processes, not ours, that could not be looked at */
};

/* Looks at all processes but this one. 0 or -errno, not logged; free the list in both cases. */
int doctor_find_breakpoints(struct doctor_breakpoint_list *list);
void doctor_free_breakpoints(struct doctor_breakpoint_list *list);

#endif
