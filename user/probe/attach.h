/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Putting the BPF programs on the probes of an object: by session links (entry and return in one),
 * by multi-uprobe links (one each) or by single perf uprobes. What is attached lives in file
 * descriptors only: it is gone when the tool is, however that happens.
 */
#ifndef MEMLEAKBPF_PROBE_ATTACH_H
#define MEMLEAKBPF_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/probe/attach_mode.h"

struct bpf_program;
struct old_programs;
struct probe_set;

/*
 * The programs by what they do; all belong to one object that is not loaded yet when
 * attach_prepare() sees them.
 */
struct attach_programs {
	struct bpf_program *alloc_enter, *alloc_leave, *alloc_session, *alloc_return, *free_enter,
		*unmap_enter, *on_unwind, *on_leave, *on_named, *on_loaded;
	bool leave, named, loaded;		    /* on_leave, on_named, on_loaded are wanted */
	struct bpf_program *usdt_alloc, *usdt_free; /* usdt_free is loaded if `usdt` */
	bool usdt;
	/* bpf/told.bpf.c's, loaded if `gate` */
	struct bpf_program *gate_alloc, *gate_free, *gate_kept;
	bool gate, gate_later; /* later: when the first of them is attached */
	/* bpf/guard.bpf.c's, loaded if `guard` */
	struct bpf_program *guard_probed;
	bool guard;
	/* bpf/scoped.bpf.c's, loaded if `scopes` */
	struct bpf_program *scope_entered, *scope_returned, *scope_jumped;
	bool scopes;
	/*
	 * Kernels before 5.15, ATTACH_SINGLE only: alloc_enter, free_enter, on_unwind and usdt_*
	 * are bpf/old.bpf.c's. Else NULL, and usdt_alloc is alloc_enter.
	 */
	struct old_programs *old;
	/*
	 * Loads one that was left out at the start, when it is to be attached first: its descriptor,
	 * borrowed, or -errno, logged. With ATTACH_SESSION alloc_enter is such a one: few functions
	 * have no return that a session could have. NULL: all that are used are loaded.
	 */
	int (*load)(void *ctx, const struct bpf_program *program);
	void *load_ctx;
	int link_bin; /* borrowed: where links go (user/kernel/link_bin.h); negative: none */
};

/*
 * Before loading: sets each program's attach type for the mode and leaves out those that it does
 * not use.
 */
void attach_prepare(enum attach_mode mode, const struct attach_programs *programs);

struct attachment; /* the links of one object in one process, or in all */

/*
 * Attaches all probes of the set. pid 0: in every process that maps the object. 0 and *out
 * (attachment_free); -ESRCH when the process has gone, other errors are logged. All or nothing.
 */
int attach_probes(enum attach_mode mode, const struct attach_programs *programs,
		  const struct probe_set *set, pid_t pid, struct attachment **out);

/* A probe that is told what happens, in a file that belongs to one process alone. */
struct told_probe {
	const struct bpf_program *program;
	uint64_t offset; /* in the file */
	uint64_t cookie; /* told_cookie(), or enum guard_abi_told */
};

/*
 * Attaches them in every process that maps the file `path`; with ATTACH_SESSION as with
 * ATTACH_MULTI. Those of one program one after the other as they stand there: ends first.
 * 0 and *out (attachment_free), or -errno, not logged. All or nothing.
 */
int attach_told(enum attach_mode mode, const struct attach_programs *programs,
		const struct told_probe *probes, size_t count, const char *path,
		struct attachment **out);

/*
 * Detaches: some milliseconds later where there is a bin for links. Without one the kernel has us
 * wait for running handlers: a tenth of a second per link, and with single per probe.
 */
void attachment_free(struct attachment *attachment);

#endif
