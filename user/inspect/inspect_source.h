/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an inspection is of: the memory of a process at one moment, and what the kernel said of it then.
 * All that knows where it is from is here; inspect.h sees nothing else.
 */
#ifndef MEMLEAKBPF_INSPECT_SOURCE_H
#define MEMLEAKBPF_INSPECT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/corefile/core_file.h"
#include "user/freeze/freeze.h"
#include "user/process/memory_image.h"
#include "user/process/object.h"

struct inspect_source {
	struct memory_image *memory; /* finished */
	pid_t pid;
	uint64_t program; /* proc_program() */
	char comm[16];
	char **cmdline;	  /* one allocation; NULL: unknown */
	char *core;	  /* the file that it is from; NULL: a living process */
	uint64_t time_ns; /* CLOCK_REALTIME */
	/* Bytes, as the kernel counts them; of a core what of it is in the file. */
	uint64_t rss_anon, swap, shmem;
	/* pages of mapped files that are the process's own: it has written to them */
	uint64_t file_private;
	uint64_t entry; /* where the program begins to run; 0: unknown */
	uint64_t pause_ns, read_bytes, unread_bytes;
	bool approximate; /* some of the memory was read while it ran */
	/* Of a core: threads whose registers are not known; it has none of any thread. */
	uint64_t unknown_threads;
	bool no_registers;
	/* For the process's files: object_cache_get(), of a core with pid 0. */
	struct object_cache *objects;
	bool objects_lent;	     /* they are somebody else's, who outlives it */
	struct core_file *core_file; /* has what is in the cache; NULL: a living process */
};

struct inspect_copying {
	bool by_fork; /* where that is possible; else it stands still while it is read */
	uint64_t max_pause_ns;
	struct object_cache *objects; /* the caller's, who outlives the source; NULL: its own */
};

/*
 * Copies a living process, as the program that it has become where it executes another one meanwhile. `forks` is kept
 * from one time to the next. 0 and *out
 * (inspect_source_release()), or -errno with the reason, a clause about "it", not logged. Why it was not
 * done by a fork is said in the log.
 */
int inspect_copy_process(pid_t pid, const struct inspect_copying *how, struct freeze_forks *forks,
			 struct inspect_source *out, char reason[static REASON_MAX]);

/*
 * The same in steps, for one who copies it himself. Before it stands still: who it is, and what its files are
 * (`objects`: the caller's, or NULL). 0 and *out (inspect_source_release()), or -errno with the reason.
 */
int inspect_source_begin(pid_t pid, struct object_cache *objects, struct inspect_source *out,
			 char reason[static REASON_MAX]);

/*
 * While it stands still: the time, and what the kernel says of its memory. 0 or -errno with the reason: -ESTALE where it
 * has executed another program since inspect_source_begin().
 */
int inspect_source_moment(struct inspect_source *out, char reason[static REASON_MAX]);

struct inspect_core {
	int root_fd;	 /* where the process's files are; -1: in our own root (core_file.h) */
	bool debuginfod; /* servers may be asked for them */
};

/*
 * Takes a core file, which is read by fd, for a process. `path` is what it is called in messages; what is
 * missing of it is said in the log. 0 and *out, or -errno with the reason, a clause about "it", not
 * logged.
 */
int inspect_open_core(int fd, const char *path, const struct inspect_core *how,
		      struct inspect_source *out, char reason[static REASON_MAX]);

void inspect_source_release(struct inspect_source *source);

#endif
