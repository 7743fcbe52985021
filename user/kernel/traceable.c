// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/traceable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "user/base/log.h"
#include "user/kernel/privilege.h"
#include "user/process/proc.h"

struct traceable_search {
	pid_t wanted, found;
};

static int traceable_visit(void *ctx, pid_t pid)
{
	struct traceable_search *search = ctx;

	if (proc_ns_pid(pid) != search->wanted)
		return 0;
	search->found = pid;
	return 1;
}

static int traceable_none(pid_t pid)
{
	struct traceable_search search = {.wanted = pid};
	char comm[16] = "";

	/* People read the pid inside a container and use it outside. */
	proc_each(traceable_visit, &search);
	if (search.found && !proc_comm(search.found, comm))
		log_error("no process %d; the one with this id inside a container is process %d "
			  "(%s) here",
			  (int)pid, (int)search.found, comm);
	else
		log_error("no process %d", (int)pid);
	return -ESRCH;
}

static int traceable_program(pid_t pid, const char *comm, bool bpf)
{
	char missing[PRIVILEGE_TEXT_MAX];
	int kind = proc_elf(pid);

	switch (kind) {
	case PROC_ELF_NATIVE:
		return 0;
	case PROC_ELF_VALGRIND:
		if (!bpf)
			return 0;
		log_error("process %d (%s) runs under valgrind, and is not traced: a probe would "
			  "be its "
			  "end, and see nothing; run the program without valgrind",
			  (int)pid, comm);
		return -EOPNOTSUPP;
	case PROC_ELF_32BIT:
		log_error("process %d (%s) is a 32-bit program; only 64-bit ones can be traced",
			  (int)pid, comm);
		return -EOPNOTSUPP;
	case PROC_ELF_FOREIGN:
		log_error("process %d (%s) is a program for another architecture", (int)pid, comm);
		return -EOPNOTSUPP;
	case -EACCES:
	case -EPERM:
		if (bpf)
			privilege_missing(missing);
		else
			snprintf(missing, sizeof(missing), "%s",
				 privilege_ptrace() ? "" : "CAP_SYS_PTRACE");
		if (*missing)
			log_error("process %d (%s): no permission; run memleakbpf as root (sudo), "
				  "or with %s",
				  (int)pid, comm, missing);
		else
			log_error("process %d (%s): no permission, although we have the "
				  "capabilities: a security module or a user namespace forbids it",
				  (int)pid, comm);
		return kind;
	case -ESRCH:
		return traceable_none(pid);
	default:
		return log_errno(kind, "process %d (%s): cannot read its program", (int)pid, comm);
	}
}

static int traceable_look(pid_t pid, bool bpf)
{
	struct proc_stat stat;
	char process[16] = "?";
	pid_t tgid;
	int err = pid > 0 ? proc_stat(pid, &stat) : -ESRCH;

	if (err == -ESRCH)
		return traceable_none(pid);
	if (err)
		return log_errno(err, "cannot read /proc/%d/stat", (int)pid);
	tgid = proc_tgid(pid);
	if (tgid > 0 && tgid != pid) {
		proc_comm(tgid, process);
		log_error("%d (%s) is a thread of process %d (%s); use -p %d", (int)pid, stat.comm,
			  (int)tgid, process, (int)tgid);
		return -EINVAL;
	}
	if (stat.kernel_thread) {
		log_error("process %d (%s) is a kernel thread; it has no heap to trace", (int)pid,
			  stat.comm);
		return -EINVAL;
	}
	/* The main thread alone may have ended. */
	if ((stat.state == 'Z' || stat.state == 'X') && proc_memory_id(pid) == pid) {
		log_error("process %d (%s) has ended already; its parent %d has not waited for it "
			  "yet",
			  (int)pid, stat.comm, (int)stat.ppid);
		return -ESRCH;
	}
	return traceable_program(pid, stat.comm, bpf);
}

int traceable_check(pid_t pid)
{
	return traceable_look(pid, true);
}

int traceable_check_ptrace(pid_t pid)
{
	return traceable_look(pid, false);
}
