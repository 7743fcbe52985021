// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_refused.h"

#include <errno.h>
#include <stdio.h>

#include "user/base/log.h"
#include "user/freeze/can_run.h"

void keep_refused_note(struct kept *kept, const char *reason, bool ended)
{
	snprintf(kept->reason, sizeof(kept->reason), "%s", reason);
	if (kept->told || ended)
		return;
	kept->told = true;
	log_info("process %d is not sampled all the time: %s", kept->pid, kept->reason);
}

bool keep_refused_stands(struct kept *kept)
{
	char reason[REASON_MAX];

	if (can_run_check(kept->pid, reason) != -EPERM)
		return false;
	keep_refused_note(kept, reason, false);
	return true;
}
