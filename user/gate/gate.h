/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A gate before the functions of one allocator in one running process: pages of code and data are
 * mapped into it, and a jump is put behind the first instruction of each function, so that its calls
 * go through a stub (stub/), which comes to a probe for samples only.
 *
 *	gate_open()	maps the pages; nothing goes through them yet
 *	gate_sites()	where probes are to be put, in the file gate_path()
 *	gate_start()	the jumps: from now on calls are told
 *	gate_close()	gives the functions their bytes back
 *	gate_hold_end()	has a process go on that stood still for its gates
 *
 * What stays in the process until it ends: the pages. Code that is there is used again by the next
 * gate, and never written over, as a thread may be in it at any time. When we are killed the stubs
 * go on and come to no probe; a later gate gives the bytes back first.
 *
 * Errors are -errno with the reason, a clause about the process ("a debugger …"), not logged.
 */
#ifndef MEMLEAKBPF_GATE_GATE_H
#define MEMLEAKBPF_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/gate/gate_hold.h"
#include "user/gate/nop.h"

struct gate_wanted {
	const char *name; /* for reasons */
	uint64_t address; /* in the process, within the request's text */
	uint64_t size;	  /* bytes, 0: unknown */
	uint32_t kind;	  /* GATE_KIND_* of stub_layout.h */
	uint32_t arguments;
	bool calls_others; /* it may call another one of the request's */
	/* GATE_KIND_NEW and _NEW_ALIGNED: which function gives its blocks, by index in the request */
	size_t instead;
};

struct gate_request {
	pid_t pid;
	const struct gate_wanted *functions;
	size_t count;
	/* The mapping that the functions lie in, as the file has it, and where it is in the process. */
	const uint8_t *text;
	uint64_t text_address, text_size;
	uint64_t mean;	/* bytes between samples in the mean; 0: every call is told */
	unsigned level; /* it begins with 2^level times that mean: gate_set_level() */
	/*
	 * The caller's: the process is to stand still, where it has one thread, until gate_hold_end().
	 * It goes on where a gate fails, and for a moment where a hold has lasted for seconds (gate_hold.c). NULL: it runs.
	 */
	struct gate_hold *hold;
	const struct gate_nop *nop;
};

struct gate;

int gate_open(const struct gate_request *request, struct gate **out,
	      char reason[static REASON_MAX]);

/* What happens at a site; registers are as stub/fast_x86_64.S has it. */
enum gate_event {
	GATE_ALLOCATED, /* block, size */
	GATE_FREED,	/* block, which is there still */
	GATE_RESIZED,	/* likewise, and realloc may fail: then comes */
	GATE_KEPT,	/* the same block, which stays */
};

struct gate_site {
	uint64_t offset; /* in the file */
	enum gate_event event;
	size_t function; /* index in the request */
};

/* Owned by the gate. */
const struct gate_site *gate_sites(const struct gate *gate, size_t *count);

/* "/proc/self/fd/N": the file that the code is mapped from, this process's alone. */
const char *gate_path(const struct gate *gate);

/* 0, or -errno with the reason: no jump is there then. */
int gate_start(struct gate *gate, char reason[static REASON_MAX]);

/*
 * Since when (CLOCK_MONOTONIC) it stood still until gate_start() had returned, with request.hold; 0:
 * it ran meanwhile.
 */
uint64_t gate_held_ns(const struct gate *gate);

/* For how long the process has stood still for it so far, in ns: the longest time of one thread. */
uint64_t gate_pause_ns(const struct gate *gate);

/*
 * From now on distances to samples are drawn with 2^level (GATE_LEVEL_MAX at most) times the mean; those that have been
 * drawn end as they are, and each sample is told with its level. 0 or -errno, not logged.
 */
int gate_set_level(const struct gate *gate, unsigned level);

/*
 * How many samples were not told so far, since too many were live at a time. What was known last, if
 * the process's memory cannot be read.
 */
uint64_t gate_dropped(struct gate *gate);

/*
 * Gives the bytes back and frees the gate. `gone`: the process has ended, or its program has, and
 * there is nothing to give back to. 0; -errno with the reason where the jumps stay: they cost some
 * ns a call. NULL is fine.
 */
int gate_close(struct gate *gate, bool gone, char reason[static REASON_MAX]);

#endif
