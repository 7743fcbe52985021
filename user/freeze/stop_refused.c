// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/stop_refused.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/proc.h"

char stop_thread_state(pid_t pid, pid_t tid)
{
	char path[64], line[512], *end;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	/* The name may hold anything, even a parenthesis. */
	end = strrchr(line, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* The process that traces `pid` already; 0: none. */
static pid_t stop_tracer_of(pid_t pid)
{
	return (pid_t)proc_status_number(pid, "TracerPid", 0);
}

static int stop_yama_scope(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	return file && fscanf(file, "%d", &scope) == 1 ? scope : 0;
}

int stop_explain(pid_t pid, int err, char reason[static REASON_MAX])
{
	pid_t tracer = stop_tracer_of(pid);
	char comm[17] = "";

	if (err != EPERM && err != EACCES)
		return refuse(reason, -err, "it cannot be stopped: %s", strerror(err));
	if (tracer) {
		proc_comm(tracer, comm);
		/*
		 * A memleakbpf's child lets go within a moment, even if its tool has been killed.
		 */
		return refuse(reason, strcmp(comm, STOP_TRACER_NAME) ? -EPERM : -EBUSY,
			      "process %d (%s) traces it already; let that detach first",
			      (int)tracer, comm);
	}
	if (stop_yama_scope() == 3)
		return refuse(
			reason, -EPERM,
			"this machine forbids ptrace altogether (kernel.yama.ptrace_scope is 3 "
			"until the next boot)");
	return refuse(reason, -EPERM,
		      "ptrace is not permitted (another user namespace, or CAP_SYS_PTRACE is "
		      "missing); run as root in the host's namespaces");
}
