// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/feature_machine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "user/base/util.h"

/* A small file of /proc or /sys as a string; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 0;

	while (fd >= 0 && used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[n < 0 ? 0 : used] = '\0';
}

static int feature_read_number(const char *path)
{
	char text[32];
	int value;

	read_text(path, text, sizeof(text));
	return sscanf(text, "%d", &value) == 1 ? value : MACHINE_UNKNOWN;
}

/* "none [integrity] confidentiality": the one in brackets is in force. */
enum lockdown machine_parse_lockdown(const char *text)
{
	if (strstr(text, "[none]"))
		return LOCKDOWN_NONE;
	if (strstr(text, "[integrity]"))
		return LOCKDOWN_INTEGRITY;
	if (strstr(text, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	return LOCKDOWN_UNKNOWN;
}

bool machine_parse_capabilities(const char *status, uint64_t *out)
{
	const char *line = strstr(status, "\nCapEff:");

	return line && sscanf(line, "\nCapEff: %" SCNx64, out) == 1;
}

/* The initial namespace maps every id to itself (user_namespaces(7)). */
bool machine_parse_initial_userns(const char *uid_map)
{
	unsigned long inside, outside, count;

	return sscanf(uid_map, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
	       outside == 0 && count == UINT32_MAX;
}

static void read_kernel(struct machine *out)
{
	struct utsname uts;

	if (uname(&uts))
		return;
	snprintf(out->release, sizeof(out->release), "%.64s", uts.release);
	snprintf(out->architecture, sizeof(out->architecture), "%.64s", uts.machine);
	if (sscanf(uts.release, "%u.%u", &out->major, &out->minor) != 2)
		out->major = out->minor = 0;
}

void machine_read(struct machine *out)
{
	struct rlimit limit;
	char text[8192];
	const char *urls = getenv("DEBUGINFOD_URLS");

	*out = (struct machine){.memlock = UINT64_MAX};
	read_kernel(out);
	read_text("/proc/self/status", text, sizeof(text));
	if (!machine_parse_capabilities(text, &out->capabilities))
		out->capabilities = 0;
	read_text("/proc/self/uid_map", text, sizeof(text));
	/* A kernel without user namespaces has no such file. */
	out->initial_userns = !text[0] || machine_parse_initial_userns(text);
	read_text("/sys/kernel/security/lockdown", text, sizeof(text));
	out->lockdown = machine_parse_lockdown(text);
	out->perf_event_paranoid = feature_read_number("/proc/sys/kernel/perf_event_paranoid");
	out->ptrace_scope = feature_read_number("/proc/sys/kernel/yama/ptrace_scope");
	out->selinux_enforcing = feature_read_number("/sys/fs/selinux/enforce");
	out->bpf_jit = feature_read_number("/proc/sys/net/core/bpf_jit_enable");
	out->panic_on_warn = feature_read_number("/proc/sys/kernel/panic_on_warn");
	out->memlock_matters = !machine_kernel_at_least(out, 5, 11);
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_max != RLIM_INFINITY)
		out->memlock = limit.rlim_max;
	out->debuginfod_urls = urls && urls[0] ? urls : NULL;
}

bool machine_kernel_at_least(const struct machine *machine, unsigned major, unsigned minor)
{
	return machine->major > major || (machine->major == major && machine->minor >= minor);
}

bool machine_has_capability(const struct machine *machine, int capability)
{
	return machine->capabilities >> capability & 1;
}
