// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/proc.h"

/* "Name:   123 kB" */
static bool read_line(const char *line, const char *name, uint64_t *bytes)
{
	size_t len = strlen(name);
	uint64_t kib;

	if (strncmp(line, name, len) || line[len] != ':' ||
	    sscanf(line + len + 1, "%" SCNu64 " kB", &kib) != 1)
		return false;
	*bytes = kib * 1024;
	return true;
}

static FILE *open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

int proc_memory(pid_t pid, uint64_t *rss, uint64_t *anon)
{
	_cleanup_fclose_ FILE *file = open_file(pid, "status");
	bool found = false;
	char line[256];
	pid_t other;

	*rss = *anon = 0;
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file)) {
		found |= read_line(line, "VmRSS", rss);
		read_line(line, "RssAnon", anon);
	}
	if (!found && (other = proc_memory_id(pid)) != pid)
		return proc_memory(other, rss, anon);
	return found ? 0 : -ESRCH;
}

int proc_usage(pid_t pid, struct proc_usage *usage)
{
	_cleanup_fclose_ FILE *file = open_file(pid, "status");
	bool found = false;
	char line[256];
	pid_t other;

	*usage = (struct proc_usage){0};
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file)) {
		unsigned ruid, uid;

		read_line(line, "VmSize", &usage->size);
		read_line(line, "VmRSS", &usage->rss);
		sscanf(line, "Threads: %" SCNu64, &usage->threads);
		found |= read_line(line, "RssAnon", &usage->anon);
		read_line(line, "RssShmem", &usage->shmem);
		read_line(line, "VmSwap", &usage->swap);
		if (sscanf(line, "Uid: %u %u", &ruid, &uid) == 2) {
			usage->uid = uid;
			usage->ruid = ruid;
		}
	}
	if (!found && (other = proc_memory_id(pid)) != pid)
		return proc_usage(other, usage);
	return found ? 0 : -ESRCH;
}

int proc_pss(pid_t pid, uint64_t *pss)
{
	_cleanup_fclose_ FILE *file = open_file(pid, "smaps_rollup");
	char line[256];

	*pss = 0;
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file)) {
		if (read_line(line, "Pss", pss))
			return 0;
	}
	return -ESRCH;
}

int machine_memory_left(uint64_t *bytes)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	uint64_t memory = 0, swap = 0;
	char line[256];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		read_line(line, "MemAvailable", &memory);
		read_line(line, "SwapFree", &swap);
	}
	*bytes = memory + swap;
	return memory ? 0 : -ENODATA;
}
