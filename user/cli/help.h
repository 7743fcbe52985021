/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --help and --version. A page's options come from the rows of options_table.c; help.c has its
 * beginning and its examples.
 */
#ifndef MEMLEAKBPF_CLI_HELP_H
#define MEMLEAKBPF_CLI_HELP_H

#include <stdio.h>

#include "user/cli/options.h"

/*
 * `commands` as for options_parse(). `command` is the one whose word stood before --help; `page` is
 * its own or a topic's. 0 or -errno of the failed write.
 */
int help_print(FILE *out, const struct command *commands, const struct command *command,
	       enum help_page page);

/* "memleakbpf 0.1.0". 0 or -errno of the failed write. */
int help_print_version(FILE *out);

#endif
