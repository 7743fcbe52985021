/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts the BPF programs on an object's probes. It uses session links (entry and return in one),
 * multi-uprobe links (one each) or single perf uprobes. Attachments live in file descriptors only:
 * they are gone when the tool is, however it ends.
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
 * The programs by their tasks. All belong to one object that is not loaded yet when
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
	bool gate, gate_later; /* gate_later: loaded when the first one is attached */
	/* bpf/guard.bpf.c's, loaded if `guard` */
	struct bpf_program *guard_probed;
	bool guard;
	/* bpf/scoped.bpf.c's, loaded if `scopes` */
	struct bpf_program *scope_entered, *scope_returned, *scope_jumped;
	bool scopes;
	/*
	 * Kernels before 5.15, ATTACH_SINGLE only: alloc_enter, free_enter, on_unwind and usdt_*
	 * come from bpf/old.bpf.c. Else NULL, and usdt_alloc is alloc_enter.
	 */
	struct old_programs *old;
	/*
	 * Loads a program that was left out at the start, when it is attached first. Returns its
	 * descriptor, borrowed, or -errno, logged. With ATTACH_SESSION alloc_enter is left out: few
	 * functions have no return for a session. NULL: all used programs are loaded.
	 */
	int (*load)(void *ctx, const struct bpf_program *program);
	void *load_ctx;
	int link_bin; /* borrowed: the bin for links (user/kernel/link_bin.h); negative: none */
};

/* Before loading: sets each program's attach type for the mode, and leaves out unused programs. */
void attach_prepare(enum attach_mode mode, const struct attach_programs *programs);

struct attachment; /* the links of one object in one process, or in all */

/*
 * Attaches all probes of the set. pid 0: in every process that maps the object. 0 and *out
 * (attachment_free); -ESRCH when the process has gone, other errors are logged. All or nothing.
 */
int attach_probes(enum attach_mode mode, const struct attach_programs *programs,
		  const struct probe_set *set, pid_t pid, struct attachment **out);

/* A probe that a gate or guard comes to with its news, in a file that one process alone has. */
struct told_probe {
	const struct bpf_program *program;
	uint64_t offset; /* in the file */
	uint64_t cookie; /* told_cookie(), or enum guard_abi_told */
};

/*
 * Attaches them in every process that maps the file `path`; ATTACH_SESSION does the same as
 * ATTACH_MULTI. Goes program by program, ends first. 0 and *out (attachment_free), or -errno, not
 * logged. All or nothing.
 */
int attach_told(enum attach_mode mode, const struct attach_programs *programs,
		const struct told_probe *probes, size_t count, const char *path,
		struct attachment **out);

/*
 * Detaches, some milliseconds later where there is a bin for links. Without one the kernel makes us
 * wait for running handlers: a tenth of a second per link, in ATTACH_SINGLE per probe.
 */
void attachment_free(struct attachment *attachment);

#endif
