// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf survey`: which process of this machine leaks, and where. */
#include "user/cli/commands.h"
#include "user/kernel/cgroup_namespace.h"
#include "user/session/loop_events.h"
#include "user/survey/survey.h"

int cmd_survey(const union command_config *command)
{
	struct rlimit old_files;
	sigset_t old;

	if (loop_block_signals(&old))
		return 1;
	loop_raise_file_limit(&old_files);
	cgroup_namespace_enter_first();
	return survey_run(&command->survey) ? 1 : 0;
}
