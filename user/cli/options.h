/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: argv to one struct, filled once and const from then on. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_H
#define MEMLEAKBPF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "user/analysis/rank.h"
#include "user/heap/reach.h"
#include "user/export/export.h"

#ifndef MEMLEAKBPF_VERSION
#define MEMLEAKBPF_VERSION "0.1.0"
#endif

#define EXIT_STATUS_USAGE 2

struct options;

/* Groups of options that a subcommand takes; -v, --version and --help come with every one. */
enum option_group {
	OPTIONS_PID = 1u << 0,	    /* -p */
	OPTIONS_COMMAND = 1u << 1,  /* COMMAND [ARG…] after the options */
	OPTIONS_INTERVAL = 1u << 2, /* -i, -n */
	OPTIONS_TRACE = 1u << 3,    /* what is traced, and how */
	OPTIONS_REPORT = 1u << 4,   /* what is shown, in which order and format */
	OPTIONS_OUTPUT = 1u << 5,   /* -o */
	OPTIONS_FILES = 1u << 6,    /* FILE… before, between and after the options */
	OPTIONS_TIMES = 1u << 7,    /* --at, --from, --to */
	OPTIONS_SURVEY = 1u << 8,   /* of the whole system */
	OPTIONS_DOCTOR = 1u << 9,   /* of the machine */
};

/* A subcommand: a row of a table. The row without a name comes first and is the default. */
struct command {
	const char *name;    /* as typed: "doctor"; NULL: no word */
	const char *summary; /* one line of --help */
	const char *help;    /* what --help prints, without the usual options' text */
	unsigned groups;     /* enum option_group: what it accepts */
	/*
	 * Completes defaults and refuses conflicts once argv has been read. 0, or -EINVAL with one
	 * line logged. NULL: nothing to do. The functions options_check_…() are made for this.
	 */
	int (*check)(struct options *options);
	/* the exit status; never called by this module */
	int (*run)(const struct options *options);
};

/* A point of a recording. */
struct option_time {
	bool given;
	bool absolute; /* ns since the epoch; false: since the recording's beginning */
	uint64_t ns;
};

enum options_action {
	ACTION_RUN,	/* command->run() */
	ACTION_HELP,	/* help_print(), exit 0 */
	ACTION_VERSION, /* print MEMLEAKBPF_VERSION, exit 0 */
};

/* The options are too many for one screen. */
enum help_topic {
	HELP_GENERAL,
	HELP_LEAKS,
	HELP_PROBES,
};

enum option_attach {
	OPTION_ATTACH_AUTO,
	OPTION_ATTACH_SESSION,
	OPTION_ATTACH_MULTI,
	OPTION_ATTACH_SINGLE,
};

enum option_stack {
	OPTION_STACK_AUTO,
	OPTION_STACK_DWARF,
	OPTION_STACK_FP,
};

enum option_children {
	OPTION_CHILDREN_DEFAULT, /* only while parsing: check() replaces it */
	OPTION_CHILDREN_LATE,	 /* attach to each child as soon as it is seen */
	/* system-wide probes filtered in BPF: from the child's first instruction */
	OPTION_CHILDREN_EXACT,
	OPTION_CHILDREN_NONE, /* children are not followed */
};

enum option_snapshot {
	OPTION_SNAPSHOT_STOP, /* a process stands still while it is read for a verdict */
	OPTION_SNAPSHOT_FORK, /* ... while it is copied */
};

/* Strings point into argv; lists of strings end with NULL as well as having a count. */
struct options {
	const struct command *command;
	enum options_action action;
	enum help_topic help_topic;

	/* What to trace. Watch: pids, no argv. Run: argv, no pids. */
	const pid_t *pids; /* without duplicates, in the order given */
	size_t pid_count;
	char *const *argv; /* COMMAND and its arguments, NULL-terminated; NULL: none */

	/* 0: no periodic snapshots, only the one at the end (run without -i) */
	uint64_t interval_ns;
	uint64_t count; /* snapshots after which to stop; 0: until the end */

	/* What to read: recordings, for the commands that do. */
	char *const *files; /* NULL-terminated */
	size_t file_count;
	struct option_time at, from, to;

	/* How to trace. */
	uint64_t min_size;     /* bytes, inclusive */
	uint64_t max_size;     /* bytes, inclusive; UINT64_MAX: no limit */
	uint64_t sample_bytes; /* 0: every allocation */
	enum option_attach attach;
	enum option_stack stack;
	unsigned depth; /* frames, 2 to ABI_MAX_FRAMES */
	bool mmap;
	const char *object;		     /* -O, NULL: any */
	const char *const *symbols_prefixes; /* NULL: none */
	size_t symbols_prefix_count;
	const char *const *alloc_fns; /* checked with alloc_fn_parse_alloc(); NULL: none */
	size_t alloc_fn_count;
	const char *const *free_fns; /* checked with alloc_fn_parse_free(); NULL: none */
	size_t free_fn_count;
	enum option_children children;
	uint32_t max_live;   /* blocks */
	uint32_t max_stacks; /* stacks of all targets together */

	/* What to show. */
	size_t top;
	uint64_t older_ns; /* 0: not given */
	enum rank_by sort;
	bool merge; /* one report for all processes of a program */
	const struct exporter_format *format;
	const char *output; /* a file's path; NULL: standard output */
	bool inlines;
	bool debuginfod;
	int error_exitcode;		 /* 0: not given */
	uint32_t check_frees;		 /* freed blocks to remember; 0: frees are not checked */
	bool leak_only;			 /* with verdict */
	const char *const *suppressions; /* files; NULL: none */
	size_t suppression_count;
	bool default_suppressions;
	enum suppression_style gen_suppressions;

	/* Reachability of what is live: docs/verdicts.md. */
	bool verdict;
	enum option_snapshot snapshot;
	uint64_t max_pause_ns;
	unsigned heuristics; /* enum reach_heuristic */
	bool tagged;	     /* pointers may carry tags */
	uint32_t contents;   /* bytes of lost blocks to show */

	/* The survey: which processes, and what its probes may cost. */
	const char *cgroup;    /* path of a control group, with all below it; NULL: any */
	const char *container; /* beginning of an id, or a name; NULL: any */
	uid_t user;	       /* (uid_t)-1: any */
	const char *comm;      /* regular expressions (regex(7), extended), checked; NULL: any */
	const char *exclude;   /* NULL: none */
	uint32_t suspects;     /* that get probes at a time */
	uint64_t min_growth;   /* bytes per hour; slower ones get no probes */
	uint64_t window_ns;    /* for how long a suspect has probes */
	uint32_t budget;       /* of the probes, in thousandths of a CPU */
	bool drill;	       /* probes at all */
	const char *record;    /* the file of a recording beside the output; NULL: none */
	bool metrics;	       /* serve them */
	struct sockaddr_storage metrics_address;
	uint32_t metrics_processes; /* with series of their own */

	int verbose; /* number of -v */
};

/*
 * Reads argv. `commands` ends with a row without check and run and name (all zero); it must outlive
 * *out, and so must argv. 0 and *out (options_free); -EINVAL when argv makes no sense, -ENOMEM: one
 * line that names option, value and remedy has been logged. The exit status for -EINVAL is
 * EXIT_STATUS_USAGE. Not reentrant: getopt_long(3) is not.
 */
int options_parse(const struct command *commands, int argc, char *argv[],
		  const struct options **out);
void options_free(const struct options *options); /* NULL is fine */

/* For struct command's check: the default command (watch or run), doctor, survey. */
int options_check_watch(struct options *options);
int options_check_doctor(struct options *options);
int options_check_record(struct options *options);
int options_check_report(struct options *options);
int options_check_diff(struct options *options);
int options_check_survey(struct options *options);

#endif
