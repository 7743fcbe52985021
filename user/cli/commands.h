/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands; each returns the exit status: 0 done, 1 error (logged), 2 usage. */
#ifndef MEMLEAKBPF_CLI_COMMANDS_H
#define MEMLEAKBPF_CLI_COMMANDS_H

#include "user/cli/options.h"

/*
 * -p PID: watch running processes. COMMAND: run it, trace it from its first instruction, report at
 * its exit.
 */
int cmd_trace(const union command_config *command);
int cmd_report(const union command_config *command);
int cmd_diff(const union command_config *command);
int cmd_doctor(const union command_config *command);
/* The present heap of processes; traces nothing. */
int cmd_inspect(const union command_config *command);
/* The memory of all processes, and the allocations of growing ones. */
int cmd_survey(const union command_config *command);
int cmd_top(const union command_config *config);
/* The kernel's own memory, and who allocates it. */
int cmd_kernel(const union command_config *command);

/* Their table, for options_parse() and help_print(). */
extern const struct command cli_commands[];

#endif
