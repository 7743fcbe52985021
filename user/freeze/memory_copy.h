/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds which memory a process has, and copies it. Internal to user/freeze: freeze.h says when, and
 * what the process does meanwhile.
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
	 * Called between two pieces once it is set. False: the rest need not be read, for all will
	 * be read again.
	 */
	bool (*between)(void *ctx);
	void *ctx;
	bool ended; /* `between` has returned false */

	struct memory_image *image;
	struct resident *resident; /* the process's */
	uint64_t measured;	   /* bytes of it, before the stop */
	size_t used;		   /* bytes of the image's data that have been read */
	uint64_t unread_bytes;	   /* that should have been read, and could not be */
	struct memory_copy_run *runs;
	size_t run_count, run_room;
	const struct mapping *scanned; /* the mapping in which runs are being found */

	/* Of a fork of the process (forkcopy.h). */
	struct resident *fork_resident;
	struct maps *fork_maps;
};

/*
 * Measures how much memory `pid` has, and takes as much for the copy, touched already. Call
 * memory_copy_release() whatever this returns. 0 or -errno with the reason.
 */
int memory_copy_reserve(struct memory_copy *copy, pid_t pid, char reason[static REASON_MAX]);
void memory_copy_release(struct memory_copy *copy);

/*
 * Reads all memory of the process, small mappings first. 0 or -errno with the reason. -ESRCH: by
 * the end of the read it has ended, or is not the program that memory_copy_reserve() saw.
 */
int memory_copy_read(struct memory_copy *copy, char reason[static REASON_MAX]);

/*
 * With a fork. First reads what the fork lacks (shared memory, MADV_DONTFORK) from the process
 * itself, which stands still. Then reads all else from the fork.
 */
int memory_copy_read_unforked(struct memory_copy *copy, pid_t fork, char reason[static REASON_MAX]);
int memory_copy_read_forked(struct memory_copy *copy, pid_t fork, char reason[static REASON_MAX]);

/* Gives memory back that was taken and is not needed, once nothing more will be read. */
void memory_copy_fit(struct memory_copy *copy);

/* Forgets all that has been read. */
void memory_copy_forget(struct memory_copy *copy);

#endif
