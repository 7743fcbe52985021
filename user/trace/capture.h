/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files that make a snapshot with all that reachability needs
 * (user/trace/capture*.c), and by nobody else.
 */
#ifndef MEMLEAKBPF_TRACE_CAPTURE_H
#define MEMLEAKBPF_TRACE_CAPTURE_H

#include <pthread.h>

#include "user/freeze/calls.h"
#include "user/process/maps.h"
#include "user/freeze/resident.h"
#include "user/freeze/stop.h"
#include "user/trace/internal.h"
#include "user/trace/live_table.h"

/* A run of pages of one mapping. */
struct capture_run {
	uint64_t start, end;
	const struct mapping *mapping;
};

struct capture {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	struct memory_image *memory;
	struct heap_image *image;
	struct resident *resident; /* the target's */
	struct stop *stop;
	pid_t leaver;	    /* of a process that is held at its end: the thread that ends it */
	uint64_t looked_ns; /* at the threads that were left asleep */
	bool disturbed;	    /* one of them has run: what has been read is of several moments */
	uint64_t deadline_ns, pause_ns;
	/* for -v: when all had stopped; what the two copies took */
	uint64_t stopped_ns, memory_ns, live_ns;

	/* The live table. */
	struct live_table live;
	/* of its entries, the first ones: in the middle of a resize, not in the kernel's table */
	size_t resized;
	pthread_t live_reader;
	int live_err;
	bool live_started, live_late; /* the table was read, in part, while the target ran */

	/* The memory. */
	struct capture_run *runs;
	size_t run_count, run_room;
	size_t region_room, used; /* of the memory's regions and data */
	uint64_t measured;
	const struct mapping *scanned; /* which mapping runs are being found in */

	/* --snapshot=fork */
	bool by_copy;
	struct call_code code;
	pid_t copy; /* 0: none */
	struct resident *copy_resident;
	struct maps *copy_maps;
	uint32_t ticks; /* the kernel's, when the target stood still */
	uint64_t copy_ns;
};

/* The snapshot gets no verdict, and says why. Returns err. */
int capture_refuse(struct capture *c, int err, const char *why);

/*
 * Ends the pause when it is due, while the target's own memory is read: what is read afterwards is
 * not of its moment. A process may have so many mappings that looking through them takes longer
 * than it may be paused. Looks at the sleeping threads, too: once one has run the rest need not be
 * read. ctx is the capture.
 */
void capture_mind_pause(void *ctx);

/* capture_memory.c: takes the memory for what will be read, touched. 0 or -errno, refused. */
int capture_reserve(struct capture *c);

/*
 * Reads all of the target's memory, small mappings first. 0 or -errno, refused. Ends early when it
 * is disturbed.
 */
int capture_memory(struct capture *c);

/*
 * With a copy: what the copy does not have (shared memory, MADV_DONTFORK), from the target, which
 * stands still; then all else, from the copy.
 */
int capture_memory_not_copied(struct capture *c);
int capture_memory_copied(struct capture *c);

/* Forgets what has been read. */
void capture_memory_again(struct capture *c);

/*
 * capture_copy.c: may it be copied? Otherwise by_copy is cleared, and that is said. Before the
 * stop.
 */
void capture_prepare_copy(struct capture *c);

/* Makes the copy of the stopped target. 0, or -errno, said: then it is read as it stands. */
int capture_make_copy(struct capture *c);

/*
 * Lets the target go on, its frees being noted from then on. Once the table is read: makes it that
 * of the moment of the copy. 0 or -ENOMEM.
 */
void capture_go_on(struct capture *c);
int capture_turn_back(struct capture *c);

#endif
