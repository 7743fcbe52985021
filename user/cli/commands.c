// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/commands.h"

const struct command cli_commands[] = {
	{
		.page = PAGE_WATCH,
		.words = WORDS_COMMAND,
		.check = options_check_watch,
		.run = cmd_trace,
	},
	{
		.name = "record",
		.summary = "into a file for later",
		.page = PAGE_RECORD,
		.words = WORDS_COMMAND,
		.check = options_check_record,
		.run = cmd_trace,
	},
	{
		.name = "report",
		.summary = "show a recording; no root",
		.page = PAGE_REPORT,
		.words = WORDS_FILES,
		.check = options_check_report,
		.run = cmd_report,
	},
	{
		.name = "diff",
		.summary = "what grew between recordings",
		.page = PAGE_DIFF,
		.words = WORDS_FILES,
		.formats = EXPORT_COMPARISONS,
		.check = options_check_diff,
		.run = cmd_diff,
	},
	{
		.name = "inspect",
		.summary = "the heap as it is now",
		.page = PAGE_INSPECT,
		.words = WORDS_FILES,
		.formats = EXPORT_INSPECTIONS,
		.check = options_check_inspect,
		.run = cmd_inspect,
	},
	{
		.name = "top",
		.summary = "a live screen",
		.page = PAGE_TOP,
		.check = options_check_top,
		.run = cmd_top,
	},
	{
		.name = "survey",
		.summary = "which process leaks here",
		.page = PAGE_SURVEY,
		.formats = EXPORT_SURVEYS,
		.check = options_check_survey,
		.run = cmd_survey,
	},
	{
		.name = "doctor",
		.summary = "what this machine allows",
		.page = PAGE_DOCTOR,
		.formats = EXPORT_FINDINGS,
		.check = options_check_doctor,
		.run = cmd_doctor,
	},
	{0},
};
