/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options as data: private to options*.c and help.c. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_TABLE_H
#define MEMLEAKBPF_CLI_OPTIONS_TABLE_H

#include "user/cli/options.h"

struct option_row;

/* A value that has a name. */
struct option_choice {
	const char *name;
	unsigned value;
};

/*
 * An option's text on some pages of --help. {default} and {values} stand for its preset and for the
 * names of its values.
 */
struct option_text {
	unsigned pages; /* enum help_page; 0: the list ends */
	const char *text;
	const char *argument; /* if it differs from the row's: "=fork" */
	const char *preset;   /* if it differs from the row's */
	bool with_next;	      /* no text: it stands on one line with the page's next option */
};

#define OPTION_TEXTS_MAX 6

/*
 * Takes an option's value: `value` is its text, NULL where the row has no argument. `shown` is the
 * option as the user wrote it. 0, -ENOMEM or -EINVAL, logged.
 */
typedef int option_apply_fn(const struct option_row *row, struct options *options,
			    const char *shown, const char *value);

/*
 * An option. If its subcommand's page of --help lacks it, the pages of `memleakbpf --help` have it,
 * and hold for all subcommands that take it.
 */
struct option_row {
	const char *name; /* long name */
	char letter;	  /* 0: none */
	/* as --help shows it: "TIME"; "[=N]": may be left out; NULL: it has none */
	const char *argument;
	unsigned commands; /* enum help_page: of the subcommands that take it */
	option_apply_fn *apply;
	size_t field, size; /* of the value in struct option_values */
	uint64_t min, max;  /* of a number */
	const struct option_choice *choices;
	const char *preset;   /* the value when the option is not given */
	uint64_t initial;     /* likewise, where no text says it: the number, or the flag */
	const char *variable; /* likewise, a flag: is set if this environment variable is */
	const char *bare;     /* the value when the argument is left out */
	const char *expected; /* "is not a duration; give e.g. 10" */
	/* Subcommands for which it makes no sense, and why: "diff shows what changed; …". */
	unsigned refused_by;
	const char *refusal;
	struct option_text texts[OPTION_TEXTS_MAX];
};

#define OPTION_ROWS_MAX 128 /* asserted where the rows are */

extern const struct option_row option_rows[];
extern const size_t option_row_count;

bool option_needs_value(const struct option_row *row);
bool option_may_have_value(const struct option_row *row);

/* The page's text; without one, that of the pages of `memleakbpf --help`; or NULL. */
const struct option_text *option_text_on(const struct option_row *row, enum help_page page);

/* The preset for the subcommand of this page, as text; NULL: there is none. */
const char *option_preset(const struct option_row *row, enum help_page page);

#define OPTION_VALUES_MAX 128

/*
 * The names of the values that the option can have for this subcommand: "a, b or c". `between`
 * stands between them, and `last` before the last one. Returns buf; empty when they have no names.
 */
char *option_list_values(char buf[static OPTION_VALUES_MAX], const struct option_row *row,
			 const struct command *command, const char *between, const char *last);

/* Sets the option's preset. 0 or -errno, logged. */
int option_apply_preset(const struct option_row *row, struct options *options);

/* Sets the row's value: an integer or bool of any size. */
void option_set_number(const struct option_row *row, struct options *options, uint64_t number);

/* Functions that apply options (options_apply.c). Those for numbers fit fields of each size. */
option_apply_fn option_apply_duration, option_apply_size, option_apply_count, option_apply_choice,
	option_apply_choices, option_apply_text, option_apply_true, option_apply_false,
	option_apply_strings, option_apply_pids, option_apply_targets, option_apply_alloc_fn,
	option_apply_realloc_fn, option_apply_free_fn, option_apply_scope, option_apply_keep,
	option_apply_children, option_apply_leak_only, option_apply_usable, option_apply_inspect,
	option_apply_format, option_apply_output, option_apply_time, option_apply_debuginfod,
	option_apply_regex, option_apply_user, option_apply_budget, option_apply_metrics,
	option_apply_profiles, option_apply_verbose, option_apply_help, option_apply_no_config,
	option_apply_version;

#endif
