/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gate leaves in a process: its pages, after any end; the jumps too, where its tool was killed
 * or where the process is a forked child of one that has a gate.
 */
#ifndef MEMLEAKBPF_GATE_LEFTOVER_H
#define MEMLEAKBPF_GATE_LEFTOVER_H

#include "user/gate/below.h"
#include "user/gate/parts.h"
#include "user/process/maps.h"

/* The name of the memfd that the code is mapped from, and as /proc/PID/maps shows it. */
#define GATE_NAME "memleakbpf-gate"
#define GATE_PATH "/memfd:" GATE_NAME

enum gate_state {
	GATE_IS_NONE,	   /* another mapping */
	GATE_IS_FREE,	   /* nobody uses it any more */
	GATE_IS_INHERITED, /* a forked child's: its breakpoints are the parent's and mean nothing */
	GATE_IS_OWNED,	   /* another tool has its probes in it, or this cannot be told */
};

/*
 * What a mapping of the process is. *file is the file that it shows, for owner_take(), to be closed; -1
 * where it is none of a gate's or cannot be opened.
 */
enum gate_state gate_state_of(pid_t pid, const struct mapping *mapping, int *file);

/*
 * Of a jump to `to` in a function whose first instruction has `kept` bytes: whose is it, and if it is a
 * gate's, what does that stand on (gate_below())? 0, or -errno with the reason.
 */
int gate_look_at_jump(pid_t pid, const struct maps *maps, uint64_t to, uint32_t kept,
		      enum gate_state *state, uint64_t *below, char reason[static REASON_MAX]);

/*
 * Are the functions' first bytes as the file has them? Fills in what there is: part.before, which
 * may be a jump that nobody uses any more, or, part.original too, that of guards, which stays. 0, or
 * -errno with the reason: -EBUSY, they are somebody's.
 */
int gate_find_leftovers(pid_t pid, const struct gate_wanted *functions, struct gate_part *parts,
			size_t count, char reason[static REASON_MAX]);

/*
 * What stands where a function's jump is to be: part.before. 0: what its file has; 1: a jump, to
 * *to; or -errno with the reason: -EBUSY, something else.
 */
int gate_read_before(pid_t pid, const struct gate_wanted *function, struct gate_part *part,
		     uint64_t *to, char reason[static REASON_MAX]);

/* A function's first bytes, as its file has them; fewer where its text ends. */
#define GATE_ENTRY_MAX 48
struct gate_entry {
	uint64_t address; /* in the process */
	size_t size;
	uint8_t file[GATE_ENTRY_MAX];
	bool at_first; /* of the probes that are to come none lies behind the first byte */
};

/*
 * Before probes are put into these functions: takes jumps away that nobody uses any more. A probe
 * on a jump, or within it, would be the process's end: the kernel goes on behind the instruction that
 * the file has there. The jumps of guards stay, and probes on first bytes are none of their business; one
 * behind would not see the guarded blocks. 0: there is none now; or -errno with the reason: -EBUSY,
 * another tool's gate; -EEXIST, guards.
 */
int gate_make_way(pid_t pid, const struct gate_entry *entries, size_t count,
		  char reason[static REASON_MAX]);

/* Takes such jumps away. *pause_ns as for gate_write_all(). 0, or -errno with the reason. */
int gate_clear_leftovers(pid_t pid, struct gate_part *parts, size_t count, uint64_t *pause_ns,
			 char reason[static REASON_MAX]);

#endif
