/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A gate before the functions of one allocator in one running process. Pages of code and data are
 * mapped into it, and a jump is put behind the first instruction of each function. Calls then go
 * through a stub (stub/), which comes to a probe for samples only.
 *
 * 	gate_open()	maps the pages; nothing goes through them yet
 * 	gate_sites()	where probes are to be put, in the file gate_path()
 * 	gate_start()	the jumps: from now on calls are told
 * 	gate_close()	gives the functions their bytes back
 * 	gate_hold_end()	lets a process go on that stood still for its gates
 *
 * The pages stay in the process until it ends. The next gate uses code again that is there, and
 * never writes over it: a thread may be in it at any time. When we are killed the stubs go on and
 * come to no probe; a later gate gives the bytes back first.
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
	bool calls_others; /* it may call another function of the request */
	/*
	 * GATE_KIND_NEW and _NEW_ALIGNED: the function that gives its blocks, by index in the
	 * request
	 */
	size_t instead;
};

struct gate_request {
	pid_t pid;
	const struct gate_wanted *functions;
	size_t count;
	/*
	 * The mapping that holds the functions: its bytes from the file, and its address in the
	 * process.
	 */
	const uint8_t *text;
	uint64_t text_address, text_size;
	uint64_t mean;	/* mean bytes between samples; 0: every call is told */
	unsigned level; /* begins with 2^level times that mean: gate_set_level() */
	/*
	 * The caller's: a process with one thread is to stand still until gate_hold_end(). It goes
	 * on where a gate fails, and for a moment where a hold has lasted for seconds
	 * (gate_hold.c). NULL: it runs.
	 */
	struct gate_hold *hold;
	const struct gate_nop *nop;
};

struct gate;

int gate_open(const struct gate_request *request, struct gate **out,
	      char reason[static REASON_MAX]);

/* What a hit at a site means; registers are as in stub/fast_x86_64.S. */
enum gate_event {
	GATE_ALLOCATED, /* block, size */
	GATE_FREED,	/* block, which still exists */
	GATE_RESIZED,	/* likewise; when realloc fails, this follows: */
	GATE_KEPT,	/* the same block, which stays */
};

struct gate_site {
	uint64_t offset; /* in the file */
	enum gate_event event;
	size_t function; /* index in the request */
};

/* Owned by the gate. */
const struct gate_site *gate_sites(const struct gate *gate, size_t *count);

/* "/proc/self/fd/N": the file with the code, this process's alone. */
const char *gate_path(const struct gate *gate);

/* 0, or -errno with the reason: then there is no jump. */
int gate_start(struct gate *gate, char reason[static REASON_MAX]);

/*
 * With request.hold: since when (CLOCK_MONOTONIC) the process stood still until gate_start()
 * returned. 0: it ran meanwhile.
 */
uint64_t gate_held_ns(const struct gate *gate);

/*
 * For how long the process has stood still for the gate so far, in ns: the longest time of one
 * thread.
 */
uint64_t gate_pause_ns(const struct gate *gate);

/*
 * From now on draws distances to samples with 2^level (GATE_LEVEL_MAX at most) times the mean.
 * Distances drawn already end as they are, and each sample is told with its level. 0 or -errno, not
 * logged.
 */
int gate_set_level(const struct gate *gate, unsigned level);

/*
 * How many samples were not told so far, since too many were live at a time. The last known number
 * if the process's memory cannot be read.
 */
uint64_t gate_dropped(struct gate *gate);

/*
 * Gives the bytes back and frees the gate. `gone`: the process or its program has ended, and there
 * is nothing to give back to. 0; -errno with the reason where the jumps stay: they cost some ns a
 * call. NULL is fine.
 */
int gate_close(struct gate *gate, bool gone, char reason[static REASON_MAX]);

#endif
