/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files that make a snapshot with all that reachability needs
 * (user/trace/capture*.c), and by nobody else.
 */
#ifndef MEMLEAKBPF_TRACE_CAPTURE_H
#define MEMLEAKBPF_TRACE_CAPTURE_H

#include <pthread.h>

#include "bpf/config.h"
#include "user/freeze/freeze.h"
#include "user/trace/live_table.h"
#include "user/trace/reader.h"

struct capture {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	const struct trace_moment *moment; /* NULL: nobody wants more of it */
	struct freeze *freeze;		   /* the target's memory */
	struct heap_image *image;
	pid_t leaver;	     /* of a process that is held at its end: the thread that ends it */
	bool approximate;    /* the live blocks are not those of the moment, or not all of them */
	uint64_t stopped_ns; /* for -v: when all had stopped; what the copy of the table took */
	uint64_t live_ns;

	/* The live table. */
	struct live_table live;
	/* of its entries, the first ones: in the middle of a resize, not in the kernel's table */
	size_t resized;
	pthread_t live_reader;
	int live_err;
	bool live_started; /* the reader has to be joined */

	/* --snapshot=fork */
	bool released;	/* the target goes on, and notes its frees */
	uint32_t ticks; /* the kernel's, when the target stood still */
};

/*
 * capture_copy.c: the snapshot is to be taken from a copy of the target, if that can be made;
 * otherwise it is said why not. Before the stop.
 */
void capture_prepare_copy(struct capture *c);

/* As struct freeze_hooks has them; ctx is the capture. */
int capture_forking(void *ctx, char reason[static REASON_MAX]);
void capture_forked(void *ctx, int err, const char *reason);
/* The target's frees are noted from then on. */
void capture_releasing(void *ctx);

/* Makes the live table, which has been read since, that of the moment of the copy. 0 or -ENOMEM. */
int capture_turn_back(struct capture *c);

#endif
