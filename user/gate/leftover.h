/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gate leaves in a process: its pages, after any end. The jumps too, if its tool was killed,
 * or in a forked child of a process that has a gate.
 */
#ifndef MEMLEAKBPF_GATE_LEFTOVER_H
#define MEMLEAKBPF_GATE_LEFTOVER_H

#include "user/gate/below.h"
#include "user/gate/parts.h"
#include "user/process/maps.h"

/* The name of the memfd with the code, and its path in /proc/PID/maps. */
#define GATE_NAME "memleakbpf-gate"
#define GATE_PATH "/memfd:" GATE_NAME

enum gate_state {
	GATE_IS_NONE,	   /* another mapping */
	GATE_IS_FREE,	   /* nobody uses it any more */
	GATE_IS_INHERITED, /* a forked child's: its breakpoints are the parent's and mean nothing */
	GATE_IS_OWNED,	   /* another tool has its probes in it, or nobody can tell */
};

/*
 * Recognises a mapping of the process. *file is the file that it shows, for owner_take(), to be
 * closed; -1 if the mapping is no gate's or the file cannot be opened.
 */
enum gate_state gate_state_of(pid_t pid, const struct mapping *mapping, int *file);

/*
 * Whose is a jump to `to` in a function whose first instruction has `kept` bytes? If it is a
 * gate's, what does that stand on (gate_below())? 0, or -errno with the reason.
 */
int gate_look_at_jump(pid_t pid, const struct maps *maps, uint64_t to, uint32_t kept,
		      enum gate_state *state, uint64_t *below, char reason[static REASON_MAX]);

/*
 * Are the functions' first bytes as in the file? Fills in part.before, which may be a jump that
 * nobody uses any more, or that of guards, which stays (then part.original too). 0, or -errno with
 * the reason: -EBUSY: somebody uses them.
 */
int gate_find_leftovers(pid_t pid, const struct gate_wanted *functions, struct gate_part *parts,
			size_t count, char reason[static REASON_MAX]);

/*
 * Reads the bytes at the place of a function's jump: part.before. 0: the file's; 1: a jump, to *to;
 * or -errno with the reason: -EBUSY, something else.
 */
int gate_read_before(pid_t pid, const struct gate_wanted *function, struct gate_part *part,
		     uint64_t *to, char reason[static REASON_MAX]);

/* A function's first bytes, from its file; fewer where its text ends. */
#define GATE_ENTRY_MAX 48
struct gate_entry {
	uint64_t address; /* in the process */
	size_t size;
	uint8_t file[GATE_ENTRY_MAX];
	bool at_first; /* no probe to come lies behind the first byte */
};

/*
 * Before probes are put into these functions: takes jumps away that nobody uses any more. A probe
 * on a jump, or within it, would end the process: the kernel goes on behind the file's instruction.
 * The jumps of guards stay, and probes on first bytes do not disturb them; a probe behind would not
 * see the guarded blocks. 0: there is none now; or -errno with the reason: -EBUSY, another tool's
 * gate; -EEXIST, guards.
 */
int gate_make_way(pid_t pid, const struct gate_entry *entries, size_t count,
		  char reason[static REASON_MAX]);

/* Takes unused jumps away. *pause_ns as for gate_write_all(). 0, or -errno with the reason. */
int gate_clear_leftovers(pid_t pid, struct gate_part *parts, size_t count, uint64_t *pause_ns,
			 char reason[static REASON_MAX]);

#endif
