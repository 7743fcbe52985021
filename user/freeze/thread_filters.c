// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/thread_filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "user/base/util.h"
#include "user/process/proc.h"

/* Newer than some libcs' headers; linux/ptrace.h of 4.4. */
#define GET_FILTER 0x420c

static int thread_filters_explain(int err, char reason[static REASON_MAX])
{
	if (err == EACCES)
		return refuse(reason, -EPERM,
			      "reading its seccomp filters takes CAP_SYS_ADMIN, and no filter over "
			      "memleakbpf itself");
	return refuse(reason, -EPERM, "its seccomp filters cannot be read: %s", strerror(err));
}

int thread_filters_allow(pid_t tid, const struct filter_call *call, unsigned *count,
			 char reason[static REASON_MAX])
{
	_cleanup_free_ struct sock_filter *code = NULL;
	/* 0: not filtered, 1: strict, 2: filters. */
	long mode = proc_status_number(tid, "Seccomp", -1);

	*count = 0;
	if (!mode)
		return 0;
	if (mode == 1)
		return refuse(reason, -EPERM, "it is in seccomp's strict mode");
	code = calloc(BPF_MAXINSNS, sizeof(*code));
	if (!code)
		return refuse(reason, -ENOMEM, "no memory for its seccomp filters");
	/* The newest filter comes first, and none can be taken away. */
	for (;; (*count)++) {
		long length = ptrace(GET_FILTER, tid, (void *)(uintptr_t)*count, code);

		if (length < 0 && errno == ENOENT && *count)
			return 0;
		if (length < 0)
			return thread_filters_explain(errno, reason);
		if (!seccomp_filter_allows(code, (size_t)length, call))
			return refuse(reason, -EPERM,
				      "a seccomp filter of its might not let madvise pass");
	}
}
