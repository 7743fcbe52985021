/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Guard sampling's pages in a process: code, data, the pool and what is saved of it. */
#ifndef MEMLEAKBPF_GUARD_GUARD_PAGES_H
#define MEMLEAKBPF_GUARD_GUARD_PAGES_H

#include "user/gate/below.h"
#include "user/guard/guard_parts.h"
#include "user/process/guard_memory.h"
#include "user/process/program_memory.h"

/* Names of the code's file in memory, and as /proc/PID/maps shows it; the pool's: guard_memory.h. */
#define GUARD_CODE_NAME GATE_GUARD_NAME
#define GUARD_CODE_PATH GATE_GUARD_PATH

struct guard_pages {
	pid_t pid;
	pid_t memory;		       /* proc_memory_id(pid) */
	struct program_memory program; /* not closed with the pages */
	uint64_t address;
	uint64_t pool, save;
	uint32_t count;
	bool keep_pages;
	int file; /* that the code is mapped from, which is locked (user/gate/owner.h); -1: none yet */
	bool taken_over;
	pid_t loose;		/* a thread that may be in a call of a try before; 0: none */
	uint64_t pause_ns;	/* for how long a thread has stood still for them, without a hold */
	struct gate_hold *hold; /* as struct gate_pages has it */
};

/* Maps new ones; all is off. 0 or -errno with the reason: then none of it is there. */
int guard_pages_make(const struct guard_request *request, const struct guard_part *parts,
		     struct guard_pages *pages, char reason[static REASON_MAX]);

/* Unmaps what guard_pages_make() has mapped: nobody has run there. */
void guard_pages_remove(struct guard_pages *pages);

/* Closes the file, with which they are nobody's (user/gate/owner.h). The pages stay. */
void guard_pages_close(struct guard_pages *pages);

/* Reads or writes the process's memory. 0 or -errno with the reason. */
int guard_pages_read(const struct guard_pages *pages, uint64_t address, void *to, size_t size,
		     char reason[static REASON_MAX]);
int guard_pages_write(const struct guard_pages *pages, uint64_t address, const void *from,
		      size_t size, char reason[static REASON_MAX]);

#endif
