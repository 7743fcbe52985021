/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guard sampling's pages in a process: code, data, the pool, and the saved contents of its blocks.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_PAGES_H
#define MEMLEAKBPF_GUARD_GUARD_PAGES_H

#include "user/gate/below.h"
#include "user/guard/guard_parts.h"
#include "user/process/guard_memory.h"
#include "user/process/program_memory.h"

/*
 * The name of the code's file in memory, and its path in /proc/PID/maps; the pool's:
 * guard_memory.h.
 */
#define GUARD_CODE_NAME GATE_GUARD_NAME
#define GUARD_CODE_PATH GATE_GUARD_PATH

struct guard_pages {
	pid_t pid;
	pid_t memory;		       /* proc_memory_id(pid) */
	struct program_memory program; /* not closed with the pages */
	uint64_t address;
	uint64_t pool, save;
	char unsaid[REASON_MAX]; /* why it has no words of a program's (GUARD_SAID); or "" */
	uint32_t count;
	bool keep_pages;
	int file; /* with the code, locked (user/gate/owner.h); -1: none yet */
	bool taken_over;
	pid_t loose;		/* a thread that may be in a call of an earlier try; 0: none */
	uint64_t pause_ns;	/* how long a thread has stood still for them, without a hold */
	struct gate_hold *hold; /* as in struct gate_pages */
};

/* Maps new pages; all is off. 0 or -errno with the reason: then none of them is there. */
int guard_pages_make(const struct guard_request *request, const struct guard_part *parts,
		     struct guard_pages *pages, char reason[static REASON_MAX]);

/*
 * Of pages that another tool has made: maps request->said in place of that tool's. 0, with
 * pages->unsaid if that could not be. Or -errno with the reason.
 */
int guard_pages_take_over(const struct guard_request *request, struct guard_pages *pages,
			  char reason[static REASON_MAX]);

/* Unmaps the pages of guard_pages_make(): nobody has run there. */
void guard_pages_remove(struct guard_pages *pages);

/* Closes the file, and so gives the pages up (user/gate/owner.h). They stay mapped. */
void guard_pages_close(struct guard_pages *pages);

/* Reads or writes the process's memory. 0 or -errno with the reason. */
int guard_pages_read(const struct guard_pages *pages, uint64_t address, void *to, size_t size,
		     char reason[static REASON_MAX]);
int guard_pages_write(const struct guard_pages *pages, uint64_t address, const void *from,
		      size_t size, char reason[static REASON_MAX]);

#endif
