/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The gate's pages in a process: code from a memfd, then data that is empty in a forked child. */
#ifndef MEMLEAKBPF_GATE_GATE_PAGES_H
#define MEMLEAKBPF_GATE_GATE_PAGES_H

#include "user/gate/parts.h"
#include "user/process/program_memory.h"

struct gate_pages {
	pid_t pid;
	pid_t memory;		       /* proc_memory_id(pid) */
	struct program_memory program; /* not closed with the pages */
	uint64_t address;
	int file;	   /* with the code, locked (owner.h); -1: none yet */
	bool fresh;	   /* nobody has run in the pages: they can be removed */
	uint64_t pause_ns; /* how long a thread has stood still for them, without a hold */
	pid_t loose;	   /* a thread that may be in a call of an earlier try; 0: none */
	/*
	 * request.hold, if the process had one thread; NULL, or without a holder: it runs, or all
	 * is done
	 */
	struct gate_hold *hold;
};

/*
 * Gets the pages into the process, with the stubs filled in and turned off. Takes those of an
 * earlier gate, if the code is the same, or makes new ones. Nothing may go through them. 0 and in
 * *on the value that turns them on, or -errno with the reason.
 */
int gate_pages_open(const struct gate_request *request, const struct gate_part *parts,
		    struct gate_pages *pages, uint64_t *on, char reason[static REASON_MAX]);

/* Are they still there, and no other tool's? */
bool gate_pages_are_ours(const struct gate_pages *pages);

/* The address of the word that turns the stubs on and off: gate_header.mean_ln2. 0: off. */
uint64_t gate_pages_switch(const struct gate_pages *pages);

/* Writes gate_header.level, GATE_LEVEL_MAX at most. 0 or -errno. */
int gate_pages_write_level(const struct gate_pages *pages, uint64_t level);

/* Reads gate_header.dropped; *dropped stays as it is if that fails. */
void gate_pages_read_dropped(const struct gate_pages *pages, uint64_t *dropped);

/* Unmaps fresh pages, through which nothing has gone yet. A held process goes on. */
void gate_pages_remove(struct gate_pages *pages);

/* Closes the file, and so gives the pages up. They stay mapped. */
void gate_pages_close(struct gate_pages *pages);

#endif
