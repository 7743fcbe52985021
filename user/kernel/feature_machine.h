/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts of the machine and of our privileges that bear on tracing: read, not tried. For `doctor`
 * and for error messages.
 */
#ifndef MEMLEAKBPF_KERNEL_FEATURE_MACHINE_H
#define MEMLEAKBPF_KERNEL_FEATURE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lockdown {
	LOCKDOWN_UNKNOWN, /* /sys/kernel/security is not mounted, or the kernel has no lockdown */
	LOCKDOWN_NONE,
	LOCKDOWN_INTEGRITY,
	LOCKDOWN_CONFIDENTIALITY, /* BPF programs may not read memory */
};

#define MACHINE_UNKNOWN (-1)

struct machine {
	char release[65];      /* uname -r */
	char architecture[65]; /* uname -m */
	unsigned major, minor; /* of the kernel's version; 0: unreadable */
	/* effective ones, those of our user namespace; bit n: capability n of linux/capability.h */
	uint64_t capabilities;
	/* false: in a container's user namespace, where capabilities do not reach the kernel */
	bool initial_userns;
	enum lockdown lockdown;
	int perf_event_paranoid;     /* kernel.perf_event_paranoid, or MACHINE_UNKNOWN */
	int ptrace_scope;	     /* kernel.yama.ptrace_scope, or MACHINE_UNKNOWN (no Yama) */
	int selinux_enforcing;	     /* 1: yes; MACHINE_UNKNOWN: no SELinux */
	int bpf_jit;		     /* net.core.bpf_jit_enable, or MACHINE_UNKNOWN */
	int panic_on_warn;	     /* kernel.panic_on_warn, or MACHINE_UNKNOWN */
	bool memlock_matters;	     /* kernels before 5.11 charge BPF maps to RLIMIT_MEMLOCK */
	uint64_t memlock;	     /* its hard limit in bytes; UINT64_MAX: none */
	const char *debuginfod_urls; /* from the environment; NULL: not set or empty */
};

/* Never fails: a fact that cannot be read is unknown. */
void machine_read(struct machine *out);

bool machine_kernel_at_least(const struct machine *machine, unsigned major, unsigned minor);
bool machine_has_capability(const struct machine *machine, int capability);

/*
 * The parsers for /sys/kernel/security/lockdown, CapEff of /proc/PID/status and /proc/PID/uid_map;
 * for tests.
 */
enum lockdown machine_parse_lockdown(const char *text);
bool machine_parse_capabilities(const char *status, uint64_t *out);
bool machine_parse_initial_userns(const char *uid_map);

#endif
