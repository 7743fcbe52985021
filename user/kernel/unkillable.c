// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/unkillable.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	long number, arguments[5], result;
};

/* Makes system calls only: another thread of ours may have been killed while it held a lock. */
static int unkillable_make(void *arg)
{
	struct call *call = arg;
	const long *a = call->arguments;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "putting-probes");
	call->result = syscall(call->number, a[0], a[1], a[2], a[3], a[4]);
	if (call->result < 0)
		call->result = -errno;
	return 0;
}

long unkillable_syscall(long number, long a, long b, long c, long d, long e)
{
	/* The child's stack. errno is ours, and we do not use it meanwhile. */
	char stack[16384] __attribute__((aligned(16)));
	struct call call = {.number = number, .arguments = {a, b, c, d, e}};
	pid_t child = clone(unkillable_make, stack + sizeof(stack),
			    CLONE_VM | CLONE_VFORK | CLONE_FILES, &call);

	/* Without a child the call is killable. */
	if (child < 0) {
		long result = syscall(number, a, b, c, d, e);

		return result < 0 ? -errno : result;
	}
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	return call.result;
}

void unkillable_close(int fd)
{
	if (fd >= 0)
		unkillable_syscall(SYS_close, fd, 0, 0, 0, 0);
}
