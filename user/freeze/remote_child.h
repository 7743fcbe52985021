/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process that holds a thread and makes it do system calls (remote.c). Internal to user/freeze. */
#ifndef MEMLEAKBPF_FREEZE_REMOTE_CHILD_H
#define MEMLEAKBPF_FREEZE_REMOTE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/calls.h"
#include "user/freeze/remote.h"

struct remote_job {
	pid_t pid;
	pid_t tool;  /* the process that made the child */
	int channel; /* a socket of type SOCK_SEQPACKET: orders come, answers go */
	pid_t only;  /* remote_begin_with() */
	uint64_t hold_ns;
	struct call_code code;
};

struct remote_order {
	enum {
		REMOTE_CALL,
		REMOTE_WRITE,
		REMOTE_TEXT,
		REMOTE_END,
	} kind;
	long number;
	uint64_t arguments[CALL_ARGUMENTS];
	size_t size;
	unsigned char bytes[REMOTE_SCRATCH];
	size_t piece_count;
	struct stop_piece pieces[STOP_PIECES_MAX];
};

/* The first answer, to no order, says whether a thread stands still. */
struct remote_answer {
	int err;
	pid_t tid;
	long result;
	uint64_t scratch;
	uint64_t start_ns;
	uint64_t end_ns; /* when the thread was let go; 0: it is still held */
	/* and it comes back by itself, perhaps out of a call that it is still in */
	bool loose;
	char reason[REASON_MAX];
};

/* The child's work. It ends when the thread has been let go. */
_Noreturn void remote_child_run(const struct remote_job *job);

#endif
