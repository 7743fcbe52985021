// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/probe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/kernel/unkillable.h"
#include "user/process/proc.h"

#define GROUP "memleakbpf_"

/* Where it is mounted usually, and where old systems have it. */
static int tracefs_open(const char *name, int flags)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[256];
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(places) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		fd = open(path, flags | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/* One line of uprobe_events (the kernel's Documentation/trace/uprobetracer.rst). 0 or -errno. */
static int tracefs_command(const char *line)
{
	_cleanup_close_ int fd = tracefs_open("uprobe_events", O_WRONLY | O_APPEND);

	if (fd < 0)
		return fd;
	return write(fd, line, strlen(line)) < 0 ? -errno : 0;
}

/* A pid is used again: with its beginning it names a process for good. */
static int event_group(char *group, size_t size)
{
	struct proc_stat stat;
	int err = proc_stat(getpid(), &stat);

	if (!err)
		snprintf(group, size, GROUP "%d_%" PRIu64, (int)getpid(), stat.start_ticks);
	return err;
}

/* The number by which perf_event_open() knows it, or -errno. */
static int64_t event_id(const char *group, const char *name)
{
	char path[160], text[32] = "";
	_cleanup_close_ int fd = -1;
	int64_t id;

	snprintf(path, sizeof(path), "events/%s/%s/id", group, name);
	fd = tracefs_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	if (read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	return sscanf(text, "%" SCNd64, &id) == 1 ? id : -EBADMSG;
}

int probe_event_open(const char *path, uint64_t offset, uint64_t counter, bool at_return, pid_t pid)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT};
	char group[48], name[64], reference[32] = "", line[512];
	int64_t id;
	int err = event_group(group, sizeof(group));

	if (err)
		return err;
	/* A program can be on an event once: each probe has one of its own. */
	snprintf(name, sizeof(name), "p%" PRIx64 "_%d_%" PRIx64, offset, (int)pid, monotonic_ns());
	if (counter)
		snprintf(reference, sizeof(reference), "(0x%" PRIx64 ")", counter);
	snprintf(line, sizeof(line), "%c:%s/%s %s:0x%" PRIx64 "%s\n", at_return ? 'r' : 'p', group,
		 name, path, offset, reference);
	err = tracefs_command(line);
	if (err)
		return err;
	id = event_id(group, name);
	if (id < 0)
		return (int)id;
	attr.config = (uint64_t)id;
	return (int)unkillable_syscall(SYS_perf_event_open, (long)&attr, pid ? pid : -1,
				       pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Of the group's name: does who has made it live? */
static bool event_is_used(const char *group, bool own)
{
	struct proc_stat stat;
	uint64_t start;
	int pid;

	if (sscanf(group, GROUP "%d_%" SCNu64, &pid, &start) != 2)
		return true;
	if (pid == getpid())
		return !own;
	return !proc_stat(pid, &stat) && stat.start_ticks == start && stat.state != 'Z';
}

unsigned probe_events_sweep(bool own)
{
	int fd = tracefs_open("uprobe_events", O_RDONLY);
	_cleanup_fclose_ FILE *events = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512], command[160], event[128];
	unsigned swept = 0;

	if (!events && fd >= 0)
		close(fd);
	while (events && fgets(line, sizeof(line), events)) {
		if (sscanf(line, "%*c:%127s", event) != 1 ||
		    strncmp(event, GROUP, strlen(GROUP)) != 0 || event_is_used(event, own))
			continue;
		snprintf(command, sizeof(command), "-:%s\n", event);
		/* -EBUSY: somebody has it open. */
		swept += !tracefs_command(command);
	}
	return swept;
}
