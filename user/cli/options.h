/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line: from argv to the const struct of a subcommand. Each option is one row of
 * options_table.c. By these rows options.c reads argv into struct option_values. The subcommand's
 * check (options_check.c) refuses what does not go together and makes the subcommand's own struct.
 */
#ifndef MEMLEAKBPF_CLI_OPTIONS_H
#define MEMLEAKBPF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/kmem/kmem.h"
#include "user/session/session_config.h"
#include "user/look/survey_config.h"

#define EXIT_STATUS_USAGE 2

struct options;

/* The pages of --help, as bits. Each subcommand has one, which stands for it in tables. */
enum help_page {
	PAGE_WATCH = 1u << 0, /* without a word: -p PID, or COMMAND */
	PAGE_RECORD = 1u << 1,
	PAGE_REPORT = 1u << 2,
	PAGE_DIFF = 1u << 3,
	PAGE_SURVEY = 1u << 4,
	PAGE_DOCTOR = 1u << 5,
	PAGE_INSPECT = 1u << 6,
	PAGE_TOP = 1u << 7,
	PAGE_OPTIONS = 1u << 8, /* --help=options: a subcommand's options as a list, for programs */
	/* --help=TOPIC: the options of watch, run and record are too many for one screen */
	PAGE_SELECT = 1u << 9,
	PAGE_LEAKS = 1u << 10,
	PAGE_CHECKS = 1u << 11,
	PAGE_FIGURES = 1u << 12,
	PAGE_SCOPES = 1u << 13,
	PAGE_STACKS = 1u << 14,
	PAGE_PROBES = 1u << 15,
	/* likewise, for the survey's */
	PAGE_KEEP = 1u << 16,
	PAGE_SERVE = 1u << 17,
	PAGE_KERNEL = 1u << 18,
};

#define PAGES_WATCH_TOPICS                                                                   \
	(PAGE_SELECT | PAGE_LEAKS | PAGE_CHECKS | PAGE_FIGURES | PAGE_SCOPES | PAGE_STACKS | \
	 PAGE_PROBES)
#define PAGES_SURVEY_TOPICS (PAGE_KEEP | PAGE_SERVE)

/* Words beside the options. */
enum command_words {
	WORDS_NONE,
	WORDS_COMMAND, /* COMMAND [ARG…] behind them */
	WORDS_FILES,   /* FILE… before, between and behind them */
};

struct doctor_config {
	struct pid_list pids;
	const struct exporter_format *format;
	bool verbose, try_load;
};

/* A look at the heap of processes, or one each interval. */
struct inspect_config {
	struct pid_list pids;
	char *const *files; /* cores */
	size_t file_count;
	struct symbolizer_options symbols;
	const char *sysroot; /* the directory with the files of a core's process; NULL: here */
	struct pace_config pace;
	struct verdict_config verdict;
	int error_exitcode; /* if a block is lost; 0: not given */
	struct show_config show;
};

/* The screen: of the one process of watch.pids, or without one of the survey. */
struct top_config {
	struct watch_config watch;
	struct survey_config survey;
};

/* A subcommand's own config: its check and its run know which one. */
union command_config {
	struct watch_config watch;   /* watch, run, record */
	struct replay_config replay; /* report, diff */
	struct survey_config survey;
	struct top_config top;
	struct doctor_config doctor;
	struct inspect_config inspect;
	struct kmem_config kernel;
};

/* A subcommand: a row of a table. The row without a name comes first and is the default. */
struct command {
	const char *name;    /* as typed: "doctor"; NULL: no word */
	const char *summary; /* one line of --help */
	enum help_page page; /* it takes options whose row has this bit */
	enum command_words words;
	enum export_use formats; /* the formats that -f may name */
	/*
	 * Refuses what does not go together, and makes options->config of options->values: the
	 * functions options_check_…(). 0, or -EINVAL with one line logged.
	 */
	int (*check)(struct options *options);
	/* the exit status; never called by this module */
	int (*run)(const union command_config *config);
};

enum options_action {
	ACTION_RUN,	/* command->run() */
	ACTION_HELP,	/* help_print(), exit 0 */
	ACTION_VERSION, /* print MEMLEAKBPF_VERSION, exit 0 */
};

/* The options' values while argv is read: all that any subcommand's struct has. */
struct option_values {
	struct pid_list pids;
	struct string_list names; /* -p NAME, copied */
	char *const *argv;
	char *const *files;
	size_t file_count;
	struct pace_config pace;
	struct trace_config trace;
	uint64_t sample_bytes;
	struct symbolizer_options symbols;
	struct verdict_config verdict;
	int error_exitcode;
	struct filter_config filter;
	struct show_config show;
	struct replay_times times;
	struct survey_scope_config scope;
	struct survey_probes_config probes;
	struct survey_keep_config keep;
	struct survey_metrics_config metrics;
	const char *container_runtime;
	struct survey_profiles_config profiles;
	const char *record;
	const char *sysroot;
	struct kmem_probes_config kernel;
	bool try_load;
};

/* The texts of defaults' files: a list. */
struct options_text {
	struct options_text *next;
	char *text;
};

/* Strings point into argv, and into texts. */
struct options {
	const struct command *command;
	enum options_action action;
	enum help_page help_page; /* of ACTION_HELP */
	int verbose;		  /* number of -v */
	bool no_config;		  /* reads no defaults from files */
	struct options_text *texts;
	union command_config config;

	/* For options_check_…() and options_free(). */
	struct option_values values;
	bool given[sizeof(struct option_values)]; /* [offset of a value]: an option has set it */
};

/* Did an option set this member of struct option_values? False: its preset stands. */
#define OPTION_GIVEN(options, member) ((options)->given[offsetof(struct option_values, member)])

/*
 * Reads argv. `commands` ends with a row without check and run and name (all zero); it must outlive
 * *out, and so must argv. 0 and *out (options_free); -EINVAL when argv makes no sense, -ENOMEM. One
 * logged line names option, value and remedy. The exit status for -EINVAL is EXIT_STATUS_USAGE. Not
 * reentrant: getopt_long(3) is not.
 */
int options_parse(const struct command *commands, int argc, char *argv[],
		  const struct options **out);
void options_free(const struct options *options); /* NULL is fine */

/* For struct command's check; watch is the default command, with -p and with COMMAND. */
int options_check_watch(struct options *options);
int options_check_record(struct options *options);
int options_check_report(struct options *options);
int options_check_diff(struct options *options);
int options_check_survey(struct options *options);
int options_check_doctor(struct options *options);
int options_check_inspect(struct options *options);
int options_check_top(struct options *options);
int options_check_kernel(struct options *options);

#endif
