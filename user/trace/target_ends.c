// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_ends.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "bpf/abi.h"
#include "user/process/cgroup_ooms.h"

void target_ends_begin(struct target *target)
{
	free(target->ooms);
	target->ooms = calloc(1, sizeof(*target->ooms));
	if (target->ooms && !cgroup_ooms_read(target->pid, target->ooms))
		return;
	/* Then it is not known whose memory was used up. */
	free(target->ooms);
	target->ooms = NULL;
}

/*
 * The kernel counts a group's limit before it kills for it. A kill in the same group since the beginning
 * for its limit, and now one for the machine's memory, would be taken for the former.
 */
static void target_ends_by_memory(const struct target *target, struct process_end *end)
{
	char path[CGROUP_PATH_MAX];
	int limited = target->ooms ? cgroup_ooms_since(target->ooms, path, &end->limit) : -1;

	end->cause = limited == CGROUP_OOM_NONE	   ? END_MACHINE_MEMORY
		     : limited == CGROUP_OOM_LIMIT ? END_MEMORY_LIMIT
						   : END_SOME_MEMORY;
	if (limited > CGROUP_OOM_NONE)
		snprintf(end->cgroup, sizeof(end->cgroup), "%.255s", path);
}

_Static_assert((int)SIGNAL_BY_ITSELF == END_SENT_ITSELF && (int)SIGNAL_AGAIN == END_SENT_AGAIN,
	       "the numbers are the same");

/* What has ended it need not be what came last: a signal that it ignores says nothing. */
static void target_ends_by_signal(struct process_end *end, const struct signal_sent *sent)
{
	if (sent->signal != end->code || sent->how >= END_SENTS)
		return;
	end->sender = sent->sender;
	end->sent = sent->how;
	snprintf(end->sender_comm, sizeof(end->sender_comm), "%.15s", sent->comm);
}

void target_ends_note(struct target *target, uint32_t end, const struct signal_sent *sent)
{
	int status = (int)(end & 0xffff);

	target->end =
		(struct process_end){.cause = END_EXIT, .code = (uint64_t)WEXITSTATUS(status)};
	if (!WIFSIGNALED(status))
		return;
	target->end.code = (uint64_t)WTERMSIG(status);
	target->end.cause = WCOREDUMP(status) ? END_CORE : END_SIGNAL;
	target_ends_by_signal(&target->end, sent);
	if (end & ABI_END_VICTIM && WTERMSIG(status) == SIGKILL)
		target_ends_by_memory(target, &target->end);
}
