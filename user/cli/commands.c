// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/commands.h"

#include "user/cli/help.h"

const struct command cli_commands[] = {
	{
		.groups = OPTIONS_PID | OPTIONS_COMMAND | OPTIONS_INTERVAL | OPTIONS_TRACE |
			  OPTIONS_REPORT | OPTIONS_OUTPUT,
		.layout = &watch_layout,
		.check = options_check_watch,
		.run = cmd_trace,
	},
	{
		.name = "record",
		.summary = "into a file for later",
		.help = help_record,
		.groups = OPTIONS_PID | OPTIONS_COMMAND | OPTIONS_INTERVAL | OPTIONS_TRACE |
			  OPTIONS_OUTPUT,
		.layout = &watch_layout,
		.check = options_check_record,
		.run = cmd_trace,
	},
	{
		.name = "report",
		.summary = "show a recording; no root",
		.help = help_report,
		.groups = OPTIONS_PID | OPTIONS_FILES | OPTIONS_TIMES | OPTIONS_REPORT |
			  OPTIONS_OUTPUT,
		.layout = &replay_layout,
		.check = options_check_report,
		.run = cmd_report,
	},
	{
		.name = "diff",
		.summary = "what grew between recordings",
		.help = help_diff,
		.groups = OPTIONS_PID | OPTIONS_FILES | OPTIONS_TIMES | OPTIONS_REPORT |
			  OPTIONS_OUTPUT,
		.layout = &replay_layout,
		.check = options_check_diff,
		.run = cmd_diff,
	},
	{
		.name = "survey",
		.summary = "which process leaks here",
		.help = help_survey,
		.groups = OPTIONS_INTERVAL | OPTIONS_SURVEY | OPTIONS_OUTPUT,
		.layout = &survey_layout,
		.check = options_check_survey,
		.run = cmd_survey,
	},
	{
		.name = "doctor",
		.summary = "what this machine allows",
		.help = help_doctor,
		.groups = OPTIONS_PID | OPTIONS_DOCTOR,
		.layout = &doctor_layout,
		.check = options_check_doctor,
		.run = cmd_doctor,
	},
	{0},
};
