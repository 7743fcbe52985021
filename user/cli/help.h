/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --help and --version. What a page says of options is made from the rows of options_table.c; its
 * beginning and its examples are in help.c.
 */
#ifndef MEMLEAKBPF_CLI_HELP_H
#define MEMLEAKBPF_CLI_HELP_H

#include <stdio.h>

#include "user/cli/options.h"

/*
 * `commands` as for options_parse(); `command` is the one behind whose word --help stood, `page` is
 * its own or a topic's. 0 or -errno of the failed write.
 */
int help_print(FILE *out, const struct command *commands, const struct command *command,
	       enum help_page page);

/* "memleakbpf 0.1.0". 0 or -errno of the failed write. */
int help_print_version(FILE *out);

#endif
