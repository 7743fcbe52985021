/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options as data, and what each does to the struct: private to options.c and options_table.c.
 */
#ifndef MEMLEAKBPF_CLI_OPTIONS_TABLE_H
#define MEMLEAKBPF_CLI_OPTIONS_TABLE_H

#include "user/cli/options.h"

struct string_list {
	const char **items; /* NULL-terminated */
	size_t count;
};

/*
 * The struct that goes out and what it points to; options comes first so that one pointer finds the
 * other.
 */
struct options_storage {
	struct options options;
	pid_t *pids;
	struct string_list symbols_prefixes, alloc_fns, free_fns, suppressions;
};

struct choice {
	const char *name;
	unsigned value;
};

struct option_row {
	const char *name; /* long name */
	char letter;	  /* 0: none */
	bool needs_value;
	bool may_have_value; /* --name or --name=value; apply gets NULL for the former */
	unsigned groups;     /* subcommands with any of them take it; 0: all do */
	/*
	 * value: the option's text, NULL without needs_value; shown: the option as the user wrote
	 * it. 0, -ENOMEM or -EINVAL, logged.
	 */
	int (*apply)(const struct option_row *row, struct options_storage *storage,
		     const char *shown, const char *value);
	const char *expected; /* "is not a duration; give e.g. 10" */
	size_t field;	      /* offset in struct options */
	size_t size;	      /* of the field: 4 or 8 for numbers */
	uint64_t min, max;    /* of a number */
	const struct choice *choices;
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

#endif
