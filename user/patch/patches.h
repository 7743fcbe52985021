/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gates (gated.h) and guards (guarded.h) of a tool: what all of them share, and what is known of
 * each process that gets some.
 */
#ifndef MEMLEAKBPF_PATCH_PATCHES_H
#define MEMLEAKBPF_PATCH_PATCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/patch/patch_options.h"

struct attach_programs;
struct attachment;
struct guard_block;
struct guard_right;
struct guard_span;
struct image;

/* What of the BPF object gates and guards use; all borrowed. The guards' is not looked at without them. */
struct patch_kernel {
	const struct attach_programs *programs;
	int guard_rows, guard_saids, guard_fault; /* descriptors: of maps, and of the program */
	struct guard_right *rights;
	struct guard_span *span;
	struct guard_block *blocks;
	void *ctx;
	/* Takes probes off: attachment_free(), with what is to be done meanwhile. */
	void (*detach)(void *ctx, struct attachment *attachment);
	/* The process's image has been filled while its gate was put in: it is not running yet. */
	void (*mapped)(void *ctx, uint32_t id);
};

struct patches;

/*
 * Can there be gates and guards, as the options want them? Before the programs are loaded. 0 and *out; or -errno,
 * logged. Where gates are no must there are none, which is logged: patches_want_gate().
 */
int patches_new(const struct patch_options *options, struct patches **out);
/* The programs are loaded. */
void patches_use(struct patches *patches, const struct patch_kernel *kernel);
void patches_free(struct patches *patches); /* NULL is fine */

/* Do allocators get gates? */
bool patches_want_gate(const struct patches *patches);
/* From now on they do, or do not. 0, or -errno with the reason. */
int patches_set_gate(struct patches *patches, bool wanted, char reason[static REASON_MAX]);

/* Gates that are made from now on draw samples by that: gated_set_level(). */
void patches_set_level(struct patches *patches, unsigned level);

/* A process, at the moment. */
struct patch_process {
	uint32_t id; /* its key in the programs' maps */
	pid_t pid;
	const char *comm;
	struct image *image;
	bool runs;     /* it has run for long, and goes on meanwhile: nothing waits for us */
	bool waits;    /* it waits for us, or has just mapped the allocator: it may be held */
	bool has_gate; /* some allocator of it */
	bool ended;
};

/* What gates and guards of a process keep. */
struct patched;

struct patched *patched_new(void);	    /* NULL: out of memory */
void patched_free(struct patched *patched); /* NULL is fine */
/* To be told before each use that changes something. */
void patched_is(struct patched *patched, const struct patch_process *process);
/* It has stood still since its first gate or guard: it goes on. NULL is fine. */
void patched_go_on(struct patched *patched);

#endif
