/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: argv to one struct, filled once and const from then on. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_H
#define MEMLEAKBPF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/session/session_config.h"
#include "user/survey/survey_config.h"

#ifndef MEMLEAKBPF_VERSION
#define MEMLEAKBPF_VERSION "0.1.0"
#endif

#define EXIT_STATUS_USAGE 2

struct options;

/* Which options a subcommand takes; -v, --version and --help come with every one. */
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

/* What an option's value is a member of, wherever a subcommand keeps that. */
enum option_part {
	PART_NONE,
	PART_PIDS,     /* struct pid_list */
	PART_ARGV,     /* char *const * */
	PART_PACE,     /* struct pace_config */
	PART_TRACE,    /* struct trace_config */
	PART_SAMPLE,   /* uint64_t */
	PART_SYMBOLS,  /* struct symbolizer_options */
	PART_VERDICT,  /* struct verdict_config */
	PART_EXITCODE, /* int */
	PART_FILTER,   /* struct filter_config */
	PART_SHOW,     /* struct show_config */
	PART_REPLAY,   /* struct replay_config */
	PART_SURVEY,   /* struct survey_config */
	OPTION_PARTS,
};

struct doctor_config {
	struct pid_list pids;
	struct show_config show;
};

/* A subcommand's own, by command->kind. */
union command_config {
	struct watch_config watch;   /* watch, run, record */
	struct replay_config replay; /* report, diff */
	struct survey_config survey;
	struct doctor_config doctor;
};

/*
 * The places of the parts in a subcommand's struct: offsets in the union plus 1; 0: it has no such
 * part, and takes no option that is kept there.
 */
struct config_layout {
	size_t at[OPTION_PARTS];
};
extern const struct config_layout watch_layout, replay_layout, survey_layout, doctor_layout;

/* A subcommand: a row of a table. The row without a name comes first and is the default. */
struct command {
	const char *name;    /* as typed: "doctor"; NULL: no word */
	const char *summary; /* one line of --help */
	const char *help;    /* what --help prints, without the usual options' text */
	unsigned groups;     /* enum option_group: what it accepts */
	const struct config_layout *layout;
	/*
	 * Completes defaults and refuses conflicts once argv has been read. 0, or -EINVAL with one
	 * line logged. NULL: nothing to do. The functions options_check_…() are made for this.
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

/* The options are too many for one screen. */
enum help_topic {
	HELP_GENERAL,
	HELP_LEAKS,
	HELP_PROBES,
};

/* Strings point into argv. */
struct options {
	const struct command *command;
	enum options_action action;
	enum help_topic help_topic;
	int verbose;	     /* number of -v */
	bool children_given; /* --children or --no-follow */
	union command_config config;
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
