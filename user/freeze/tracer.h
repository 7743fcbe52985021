/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that holds another one by ptrace (stop.c), a child of ours for that alone. Whatever
 * becomes of us, the held process goes on when its time is over: the child lets it go. The child
 * may not run either (SIGSTOP to all of us, a frozen control group). Then a timer that it has set
 * makes the kernel kill it, and the hold ends with its tracer. Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_TRACER_H
#define MEMLEAKBPF_FREEZE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/calls.h"
#include "user/freeze/seccomp_filter.h"
#include "user/freeze/stop.h"

struct tracer_job {
	pid_t pid;	 /* to be held */
	pid_t but;	 /* a thread not to be held; 0: none */
	pid_t tool;	 /* the process that made the child */
	int channel;	 /* a socket of type SOCK_SEQPACKET: orders come, answers go */
	int threads;	 /* a file for the threads and their registers */
	uint64_t max_ns; /* for stopping them */
	/* how long it may be held; 0: it is ending, and held for as long as the tool runs */
	uint64_t hold_ns;
	const struct stop_sleepers *sleepers; /* NULL: all are stopped */
};

/* The first answer, to no order, says whether all threads stand still. */
struct tracer_order {
	enum {
		TRACER_STOP_SLEEPERS,
		TRACER_COPY,
		TRACER_WRITE,
		TRACER_FILTERS,
		TRACER_RELEASE,
	} kind;
	struct call_code code; /* TRACER_COPY, until deadline_ns */
	uint64_t deadline_ns;
	size_t piece_count; /* TRACER_WRITE */
	struct stop_piece pieces[STOP_PIECES_MAX];
	struct filter_call call; /* TRACER_FILTERS */
};

struct tracer_answer {
	int err;
	pid_t copy; /* 0: none */
	uint64_t start_ns;
	uint64_t end_ns; /* when the process was let go; 0: it is still held */
	bool by_itself;	 /* ... without an order */
	size_t thread_count;
	unsigned filters; /* of each thread: TRACER_FILTERS */
	char reason[REASON_MAX];
};

/*
 * The file of threads: this for each thread, and behind them all their registers. Written again
 * when more have been stopped.
 */
struct tracer_thread {
	pid_t tid;
	bool asleep; /* left alone; not traced */
	uint64_t sp, tls;
	uint64_t switches;   /* of a sleeping thread */
	uint64_t words_at;   /* offset in the file */
	uint64_t word_count; /* 0: it has ended meanwhile */
};

/* The child's work. It ends when the channel does. */
_Noreturn void tracer_run(const struct tracer_job *job);

#endif
