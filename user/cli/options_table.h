/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The options as data, and what each does to the struct: private to options.c and options_table.c.
 */
#ifndef MEMLEAKBPF_CLI_OPTIONS_TABLE_H
#define MEMLEAKBPF_CLI_OPTIONS_TABLE_H

#include "user/cli/options.h"

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
	int (*apply)(const struct option_row *row, struct options *options, const char *shown,
		     const char *value);
	const char *expected;  /* "is not a duration; give e.g. 10" */
	enum option_part part; /* what holds the field */
	size_t field;	       /* offset in the part */
	size_t size;	       /* of the field: 4 or 8 for numbers */
	uint64_t min, max;     /* of a number */
	const struct choice *choices;
};

/* The part of the command's own struct; NULL: it has none. */
void *option_part(struct options *options, enum option_part part);

#define OPTION_ROWS_MAX 64 /* asserted where the rows are */

extern const struct option_row option_rows[];
extern const size_t option_row_count;

#endif
