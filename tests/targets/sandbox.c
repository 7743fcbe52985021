// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program under seccomp, as containers and systemd services are: a system call that is not on the
 * list kills it. On x86_64 kernels from 6.11 return probes are system calls.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "truth.h"

#define ALLOW(number)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

SITE static void leak_confined(size_t size)
{
	truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void free_confined(size_t size)
{
	truth_free(truth_keep(THIS_SITE(), malloc(size), size));
	NOT_A_TAIL_CALL();
}

static void confine(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(getpid),
		ALLOW(getrandom),
		ALLOW(exit),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		truth_die("seccomp");
}

static const char *obey(const char *command)
{
	if (strcmp(command, "go"))
		return NULL;
	for (int i = 0; i < 20; i++) {
		leak_confined(40);
		free_confined(10);
	}
	return "";
}

int main(void)
{
	confine();
	return truth_serve(obey);
}
