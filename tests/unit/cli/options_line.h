/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines as text, for the tests of options. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_OPTIONS_LINE_H
#define MEMLEAKBPF_TESTS_OPTIONS_LINE_H

#include <string.h>

#include "user/cli/commands.h"

#define LINE_WORDS 64

/*
 * options_parse() of the line, which is split at blanks; "''" is an empty word. The words stay
 * valid until the next call.
 */
static inline int parse(const char *line, const struct options **out)
{
	static char copy[512], *argv[LINE_WORDS];
	int argc = 0;

	assert_true(strlen(line) < sizeof(copy));
	strcpy(copy, line);
	argv[argc++] = "memleakbpf";
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		assert_true(argc < LINE_WORDS - 1);
		argv[argc++] = strcmp(word, "''") ? word : "";
	}
	argv[argc] = NULL;
	return options_parse(cli_commands, argc, argv, out);
}

static inline const struct options *parse_good(const char *line)
{
	const struct options *options = NULL;

	if (parse(line, &options) || !options)
		fail_msg("'%s' was refused", line);
	return options;
}

static inline const struct command *command_named(const char *name)
{
	const struct command *command = &cli_commands[1];

	while (command->name && strcmp(command->name, name) != 0)
		command++;
	assert_non_null(command->name);
	return command;
}

#endif
