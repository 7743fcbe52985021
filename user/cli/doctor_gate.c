// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/doctor_gate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/guard/guard.h"

/* From the kernel's linux/ptrace.h, which conflicts with the C library's header. */
#define SUSPEND_SECCOMP (1l << 21)

/* 0 or -errno: may a process be stopped at all, and may its filter of system calls be suspended? */
struct seizing {
	int plain, suspended;
};

static int doctor_gate_seize(pid_t pid, long options)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, options) ? -errno : 0;
}

static struct seizing doctor_gate_try_seizing(void)
{
	struct seizing seizing = {0};
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return (struct seizing){-errno, -errno};
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	seizing.suspended = doctor_gate_seize(pid, SUSPEND_SECCOMP);
	if (seizing.suspended)
		seizing.plain = doctor_gate_seize(pid, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return seizing;
}

/* Why a process with a filter of system calls cannot make the calls for a gate. */
static const char *doctor_gate_filter_note(int err)
{
	if (err == -EINVAL)
		return "not in processes with a seccomp filter: this kernel was built without "
		       "CONFIG_CHECKPOINT_RESTORE";
	return "not in processes with a seccomp filter: that takes CAP_SYS_ADMIN, and no filter of "
	       "our own";
}

void doctor_gate_read(const struct machine *machine, bool old, struct doctor_gate *out)
{
	struct seizing seizing;
	int err, notes = 0;

	*out = (struct doctor_gate){0};
	if (old) {
		snprintf(out->why, sizeof(out->why),
			 "this kernel hands no cookie to a probe's program");
		out->remedy = "use Linux 5.15 or newer";
		return;
	}
	err = gate_nop_choose(&out->nop);
	if (err == -EOPNOTSUPP) {
		snprintf(out->why, sizeof(out->why), "%s", out->nop.step);
		return;
	}
	if (err) {
		snprintf(out->why, sizeof(out->why), "%s: %s", out->nop.step, strerror(-err));
		out->remedy = "run as root (sudo), outside of containers; it takes uprobes "
			      "(CONFIG_UPROBE_EVENTS=y) and memory that may be executed";
		return;
	}
	seizing = doctor_gate_try_seizing();
	if (seizing.plain && machine->ptrace_scope == 3) {
		snprintf(out->why, sizeof(out->why),
			 "kernel.yama.ptrace_scope is 3: no process may be stopped");
		out->remedy = "only a reboot can lower it";
		return;
	}
	if (seizing.plain) {
		snprintf(out->why, sizeof(out->why), "stopping a process (ptrace): %s",
			 strerror(-seizing.plain));
		out->remedy = "run outside of containers and sandboxes that forbid ptrace";
		return;
	}
	out->have = true;
	guard_check_memory(out->no_guards);
	if (seizing.suspended)
		out->notes[notes++] = doctor_gate_filter_note(seizing.suspended);
	if (machine->selinux_enforcing == 1)
		out->notes[notes++] = "SELinux is enforcing and may refuse code in files of a "
				      "confined process's own (execute on its tmpfs files)";
}

void doctor_gate_text(const struct doctor_gate *gate, char *text, size_t size)
{
	snprintf(text, size, "%s, %s by the kernel, %.2f us a hit", gate->nop.name,
		 gate->nop.optimised ? "optimised" : "emulated", gate->nop.hit_ns / 1e3);
}
