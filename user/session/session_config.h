/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user's wishes for the pipeline: filled once (by user/cli from argv, or by a test), const from
 * then on. Everything behind a pointer belongs to whoever fills it, and outlives its users.
 */
#ifndef MEMLEAKBPF_SESSION_SESSION_CONFIG_H
#define MEMLEAKBPF_SESSION_SESSION_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/analysis/rank.h"
#include "user/export/export.h"
#include "user/trace/trace_options.h"

struct target;

/* The wanted processes, without duplicates, in the order given; empty: all. */
struct pid_list {
	const pid_t *pids;
	size_t count;
};

/* Ends with NULL as well as having a count; items is NULL when there is none. */
struct string_list {
	const char *const *items;
	size_t count;
};

/* Processes by what they are, later ones too: all given conditions must hold. */
struct select_config {
	struct string_list names; /* of commands: one of them */
	const char *cgroup;	  /* path of a control group, with all below it; NULL: any */
	const char *container;	  /* beginning of an id, or a name; NULL: any */
	const char *unit;	  /* of systemd; NULL: any */
};

/* When snapshots are taken. */
struct pace_config {
	uint64_t interval_ns; /* 0: only the one at the end */
	uint64_t duration_ns; /* after which to stop; 0: none */
	uint64_t count;	      /* snapshots after which to stop; 0: until the end */
};

/* Which allocations are traced, and how. */
struct trace_config {
	uint64_t min_size;	 /* bytes, inclusive */
	uint64_t max_size;	 /* bytes, inclusive; UINT64_MAX: no limit */
	uint64_t older_ns;	 /* 0: not given */
	enum attach_mode attach; /* ATTACH_AUTO: the best that this kernel has; or ATTACH_GATE */
	bool gate;		 /* where possible; else probes */
	bool frame_pointers;	 /* no unwind tables */
	bool native_frames;	 /* an interpreter's own functions too */
	bool ask_runtime;	 /* JVMs are asked for perf maps */
	uint32_t depth;		 /* frames, 2 to ABI_MAX_FRAMES */
	bool mmap;
	bool group_sizes;   /* a row for each size of a stack's live blocks */
	const char *object; /* -O, NULL: any */
	struct string_list symbols_prefixes;
	struct string_list alloc_fns;	/* checked with alloc_fn_parse_alloc() */
	struct string_list realloc_fns; /* checked with alloc_fn_parse_realloc() */
	struct string_list free_fns;	/* checked with alloc_fn_parse_free() */
	struct string_list scopes;	/* checked with scope_spec_parse() */
	bool scope_only;		/* blocks in no scope are not recorded */
	enum trace_children children;
	uint32_t max_live;	     /* blocks */
	uint32_t max_stacks;	     /* stacks of all targets together */
	struct figures_kept figures; /* of each stack, beside its sums */
	uint32_t check_frees;	     /* freed blocks to remember; 0: frees are not checked */
	struct guard_options guard;  /* guard_count_fits() */
};

/* Reachability of live blocks: docs/verdicts.md. */
struct verdict_config {
	bool wanted;  /* at each snapshot */
	bool inspect; /* and with it an inspection of the same copy */
	bool by_copy; /* --snapshot=fork: a process stands still while it is copied, not read */
	uint64_t max_pause_ns; /* longest time to stand still */
	unsigned heuristics;   /* enum reach_heuristic */
	bool tagged;	       /* pointers may carry tags */
	uint32_t contents;     /* bytes of lost blocks to show */
};

/* Which findings are hidden. */
struct filter_config {
	bool leak_only;			 /* with a verdict: hides blocks that are not lost */
	struct string_list suppressions; /* files */
	bool default_suppressions;
};

/* How and where the report is shown. */
struct show_config {
	const struct exporter_format *format;
	const char *output; /* a file's path; NULL: standard output */
	size_t top;
	enum rank_by sort;
	bool brief;			 /* a line for each stack */
	struct string_list own, not_own; /* whose line it is: struct site_rules */
	enum site_by by;		 /* what a row is, where the format has rows */
	bool merge;			 /* one report for all processes of a program */
	enum suppression_style gen_suppressions;
	bool verbose;
	/*
	 * for a viewer, in a thread that takes no signals; a file gets a new name, which nobody has
	 * given
	 */
	bool viewed;
};

/* Points into the config. */
static inline struct site_rules show_sites(const struct show_config *show)
{
	return (struct site_rules){
		.own = show->own.items,
		.own_count = show->own.count,
		.not_own = show->not_own.items,
		.not_own_count = show->not_own.count,
	};
}

/*
 * A viewer looks at reports itself, and hears of new ones, all from inside the session's calls. The
 * session's pipeline has the reports, and prints nothing.
 */
struct session_viewer {
	void *ctx;
	void (*attached)(void *ctx, struct target *target);
	/*
	 * The target has ended (or become another program). Its last report is there; its names
	 * stay until this returns.
	 */
	void (*ended)(void *ctx, struct target *target);
	/* The findings of a look at its heap; they belong to the session. */
	void (*inspected)(void *ctx, const struct inspection *inspection);
};

/* memleakbpf -p, memleakbpf -- COMMAND, record. Watch: pids or select, no argv. Run: argv alone. */
struct watch_config {
	struct pid_list pids;
	struct select_config select;
	char *const *argv; /* COMMAND and its arguments, NULL-terminated; NULL: none */
	struct pace_config pace;
	struct trace_config trace;
	uint64_t sample_bytes; /* 0: every allocation */
	struct symbolizer_options symbols;
	struct verdict_config verdict;
	int error_exitcode; /* if leaks were found; 0: not given */
	struct filter_config filter;
	struct show_config show;
	const struct session_viewer *viewer; /* NULL: reports are printed */
};

/* A point of a recording. */
struct replay_time {
	bool given;
	bool peak;     /* --at peak: each process at its largest */
	bool absolute; /* ns since the epoch; false: since the recording's beginning */
	uint64_t ns;
};

struct replay_times {
	struct replay_time at, from, to;
};

/* report, diff. */
struct replay_config {
	char *const *files; /* NULL-terminated */
	size_t file_count;
	struct pid_list pids;
	/* processes by their commands' names, instead of the pids; none: by the pids */
	struct string_list names;
	struct replay_times times;
	struct filter_config filter;
	struct show_config show;
};

#endif
