// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf kernel`: who in the kernel allocates what is not freed. */
#include "user/cli/commands.h"
#include "user/kernel/cgroup_namespace.h"
#include "user/kmem/kmem.h"
#include "user/session/loop_events.h"

int cmd_kernel(const union command_config *command)
{
	sigset_t old;

	if (loop_block_signals(&old))
		return 1;
	cgroup_namespace_enter_first();
	return kmem_run(&command->kernel);
}
