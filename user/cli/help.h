/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --help and --version. */
#ifndef MEMLEAKBPF_CLI_HELP_H
#define MEMLEAKBPF_CLI_HELP_H

#include <stdio.h>

#include "user/cli/options.h"

/*
 * `commands` as for options_parse(); `command` is the one whose help is wanted, unless it is a
 * topic's. 0 or -errno of the failed write.
 */
int help_print(FILE *out, const struct command *commands, const struct command *command,
	       enum help_topic topic);

/* "memleakbpf 0.1.0". 0 or -errno of the failed write. */
int help_print_version(FILE *out);

/* For struct command's help. */
extern const char help_doctor[], help_record[], help_report[], help_diff[];
extern const char help_survey[];

#endif
