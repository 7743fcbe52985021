/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which memory of a process there is, and copying it. Internal to user/freeze: freeze.h says when
 * and what the process does meanwhile.
 */
#ifndef MEMLEAKBPF_FREEZE_MEMORY_COPY_H
#define MEMLEAKBPF_FREEZE_MEMORY_COPY_H

#include "user/base/reason.h"
#include "user/freeze/resident.h"
#include "user/process/memory_image.h"

/* A run of pages of one mapping. */
struct memory_copy_run {
	uint64_t start, end;
	const struct mapping *mapping;
};

struct memory_copy {
	pid_t pid;
	/*
	 * Called between two pieces once it is set. When it says false the rest need not be read:
	 * all will be read again.
	 */
	bool (*between)(void *ctx);
	void *ctx;
	bool ended; /* it has said so */

	struct memory_image *image;
	struct resident *resident; /* the process's */
	uint64_t measured;	   /* bytes of it, before the stop */
	size_t used;		   /* of the image's data: what has been read */
	uint64_t unread_bytes;	   /* what should have been read, and could not be */
	struct memory_copy_run *runs;
	size_t run_count, run_room;
	const struct mapping *scanned; /* which mapping runs are being found in */

	/* Of a fork of the process (forkcopy.h). */
	struct resident *fork_resident;
	struct maps *fork_maps;
};

/*
 * Looks at how much memory `pid` has, and takes as much for what will be read, touched already. To
 * be released with memory_copy_release(), whatever this returns. 0 or -errno with the reason.
 */
int memory_copy_reserve(struct memory_copy *copy, pid_t pid, char reason[static REASON_MAX]);
void memory_copy_release(struct memory_copy *copy);

/*
 * Reads all memory of the process, small mappings first. 0 or -errno with the reason: -ESRCH where it is not the program
 * any more that it was for memory_copy_reserve(), or has ended, by the time that all has been read.
 */
int memory_copy_read(struct memory_copy *copy, char reason[static REASON_MAX]);

/*
 * With a fork: what that does not have (shared memory, MADV_DONTFORK) from the process itself,
 * which stands still; then all else from the fork.
 */
int memory_copy_read_unforked(struct memory_copy *copy, pid_t fork, char reason[static REASON_MAX]);
int memory_copy_read_forked(struct memory_copy *copy, pid_t fork, char reason[static REASON_MAX]);

/* Gives back what was taken beforehand and not needed: once nothing more will be read. */
void memory_copy_fit(struct memory_copy *copy);

/* Forgets what has been read. */
void memory_copy_forget(struct memory_copy *copy);

#endif
