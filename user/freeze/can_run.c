// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/can_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/freeze/stop_refused.h"
#include "user/process/frozen.h"
#include "user/process/proc.h"

/* Bytes of a group's path that are shown, since a reason has little room: its end tells most. */
#define SHOWN_MAX 100

static const char *can_run_end_of(const char *group)
{
	const char *end = group, *slash;

	while (strlen(end) > SHOWN_MAX && (slash = strchr(end + 1, '/')) != NULL)
		end = slash;
	return strlen(end) > SHOWN_MAX ? end + strlen(end) - SHOWN_MAX : end;
}

int can_run_refuse(const struct frozen *frozen, char reason[static REASON_MAX])
{
	const char *group = can_run_end_of(frozen->group);

	if (!*group)
		return refuse(reason, -EPERM, "it is frozen; thaw its control group first");
	return refuse(reason, -EPERM, "it is frozen; thaw it first (control group %s%s%s)",
		      group == frozen->group ? "" : "...", group,
		      frozen->version == 1 ? ", version 1" : "");
}

int can_run_check_thread(pid_t tid, char reason[static REASON_MAX])
{
	struct frozen frozen;

	return frozen_look(tid, &frozen) ? can_run_refuse(&frozen, reason) : 0;
}

int can_run_check(pid_t pid, char reason[static REASON_MAX])
{
	_cleanup_free_ char *state = NULL;

	if (proc_status_field(pid, "State", &state))
		return refuse(reason, -ESRCH, "it has ended");
	if (proc_status_number(pid, "TracerPid", 0))
		return stop_explain(pid, EPERM, reason);
	if (state[1] == 'T')
		return refuse(reason, -EPERM, "it is stopped; have it go on first (SIGCONT)");
	if (state[1] == 't')
		return refuse(reason, -EBUSY, "it is stopped anyway");
	/* A main thread that has ended still has a group, but is in none of the freezer's traps. */
	return can_run_check_thread(proc_memory_id(pid), reason);
}
