/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a trace is asked to do: which targets, which calls of them, and what is kept. */
#ifndef MEMLEAKBPF_TRACE_TRACE_OPTIONS_H
#define MEMLEAKBPF_TRACE_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/stack_figures.h"
#include "user/patch/patch_options.h"
#include "user/probe/attach_mode.h"
#include "user/symbol/symbolizer_options.h"
#include "user/target/provider_options.h"

struct scope_spec;

enum trace_children {
	CHILDREN_NONE,
	CHILDREN_LATE, /* probes come when the fork has been noticed */
	/* From here on they are seen from their first instruction: */
	/* each is held until its probes are in; CHILDREN_LATE where the kernel cannot (6.18 can) */
	CHILDREN_EXACT,
	/*
	 * probes are in every process of the machine already, filtered in BPF. Other processes pay
	 * a trap for each call. Instruction translators (valgrind) that begin meanwhile die of it
	 */
	CHILDREN_SYSTEMWIDE,
};

/* Of targets whose allocators sample by themselves and tell (user/target/usdt_notes.h). */
enum trace_usdt {
	TRACE_USDT_NEVER, /* their functions get probes like any other's */
	TRACE_USDT_FOUND, /* what they tell counts, and nothing else */
	TRACE_USDT_ONLY,  /* and others are not traced */
};

/* With figures.lifetimes: birthdays of blocks take bits of their stacks' numbers. */
#define TRACE_LIFETIMES_MAX_STACKS 4000000u

struct trace_options {
	enum attach_mode attach;
	enum trace_children children;
	uint64_t min_size, max_size; /* bytes, inclusive */
	uint64_t older_ns;	     /* 0: everything counts as older */
	uint64_t sample_bytes; /* mean distance of sample points; 0: every allocation is recorded */
	enum trace_usdt usdt;
	bool gate; /* allocators get the gate (user/gate) where they can have it, else probes */
	bool gate_only;	   /* --attach gate: the gate, or an error */
	bool gate_or_none; /* the gate, or it is not traced: target_refusal(), and no error */
	bool gate_later;   /* trace_set_gate() may be called */
	/* samples of gates are counted, and trace_set_level() may be called; with gate, sample_bytes, and no scopes */
	bool sample_levels;
	uint32_t max_live_target; /* live samples of one target; with sample_levels */
	bool lifts_filters; /* we have CAP_SYS_ADMIN and no seccomp filter: a gate goes to those that have one */
	bool frame_pointers; /* --stack fp: no unwind tables */
	bool native_frames;  /* an interpreter's own functions too, not only those that it runs */
	bool ask_runtime;    /* trace_ask_runtime() does something */
	uint32_t max_frames; /* 2 to ABI_MAX_FRAMES */
	uint32_t max_live,
		max_stacks; /* stacks: at most TRACE_LIFETIMES_MAX_STACKS with lifetimes */
	bool find_vma;	    /* the kernel has bpf_find_vma() */
	/* a target that ends itself is held before its memory goes: callbacks.leaving */
	bool hold_at_end;
	/* a target waits, when it has loaded libraries, until allocators among them have probes */
	bool wait_loaded;
	bool copies;   /* verdicts are taken from a copy of the target: --snapshot=fork */
	bool sleepers; /* threads that sleep are not woken to be looked at, if the kernel can */
	bool managed_later; /* what follows runtimes is loaded when a target has one: bpf/managed.h */
	bool managed_now;   /* with managed_later: a runtime is expected, so it is loaded at once */
	bool loops;	    /* the kernel has bpf_loop() */
	bool task_storage;    /* and bpf_task_storage_get() for probe programs */
	bool old;	      /* kernel before 5.15: ATTACH_SINGLE and frame_pointers only */
	bool typed_reads;     /* programs may not copy the kernel's memory: bpf/kernel_read.h */
	uint32_t left_out;    /* what the kernel has refused, beside other options: refused.h */
	bool ages;	      /* snapshots tell the age of each stack's oldest block */
	bool ages_seldom;     /* and are so many that ages may be some seconds old */
	uint32_t check_frees; /* how many freed blocks to remember, to find bad frees; 0: do not */
	/*
	 * A signal that ends the tool ends it at once (user/base/starting.h), until trace_started(); else
	 * it waits for who looks for it. No thread of ours may be there yet.
	 */
	bool starting;
	struct guard_options guard;
	struct figures_kept figures; /* what to keep of stacks beside their counters */
	bool group_sizes; /* with figures.sizes: a row for each size of a stack's live blocks */
	struct provider_options providers;
	struct symbolizer_options symbols;
	/* functions whose calls are scopes */
	const struct scope_spec *scopes;
	size_t scope_count;
	bool scope_only; /* what is allocated in none of them is not recorded */
	/* Files that a command is going to map, for trace_new() to expect what it needs; none: 0. */
	char *const *files;
	size_t file_count;
	bool scope_anywhere; /* a target that has none of them is traced all the same */
};

/*
 * Looks at what this kernel can, and fills in the options which that decides:
 *
 * - attach, find_vma, loops, task_storage, old, sleepers
 * - usdt, by what is wanted and by the other options
 * - children, which become late where they cannot be held
 * - frame_pointers, which is set, and hold_at_end, wait_loaded, copies and check_frees, which are
 *   cleared, where it must be
 *
 * `wanted` is the mode asked for. With ATTACH_AUTO the best one that works is taken. 0, also where
 * none works at all: trace_new() then says why. -EOPNOTSUPP, logged, when the wanted one does not
 * work; -ENOMEM.
 */
int trace_options_choose(struct trace_options *options, enum attach_mode wanted);

#endif
