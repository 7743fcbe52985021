// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/process_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/proc.h"
#include "user/symbol/perfmap.h"
#include "user/symbol/root.h"

struct process {
	UT_hash_handle hh;
	pid_t pid;
	unsigned int refs;
	uint64_t serial;
	uint64_t start_time; /* clock ticks since boot; 0: unknown */
	int root_fd;
	struct perfmap *map;
};

struct process_set {
	struct process *processes;
	uint64_t last_serial;
};

/* The fields of /proc/PID/status that we need; proc_pid_status(5). */
struct status {
	unsigned int real_uid, effective_uid;
	pid_t inner_pid; /* in the innermost pid namespace */
	bool has_uid;
};

struct process_set *process_set_new(void)
{
	return calloc(1, sizeof(struct process_set));
}

static void process_close(struct process *process)
{
	cleanup_close(&process->root_fd);
	process->root_fd = -1;
	perfmap_free(process->map);
	process->map = NULL;
}

void process_set_free(struct process_set *set)
{
	struct process *process;
	struct process *next;

	if (!set)
		return;
	HASH_ITER (hh, set->processes, process, next) {
		HASH_DEL(set->processes, process);
		process_close(process);
		free(process);
	}
	free(set);
}

/*
 * Field 22 of /proc/PID/stat, counted from behind the command's name, which may hold anything;
 * proc_pid_stat(5). 0: unknown.
 */
static uint64_t read_start_time(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	char text[1024];
	unsigned long long ticks = 0;
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
			  " %*d %*d %*d %*d %llu",
			  &ticks) != 1)
		return 0;
	return ticks;
}

static bool read_status(pid_t pid, struct status *status)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	char line[512];

	*status = (struct status){.inner_pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u", &status->real_uid, &status->effective_uid) == 2)
			status->has_uid = true;
		if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');

			if (last && atoi(last + 1) > 0)
				status->inner_pid = atoi(last + 1);
		}
	}
	return status->has_uid;
}

static int open_root(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)proc_memory_id(pid));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void open_map(struct process *process, int root_fd)
{
	_cleanup_close_ int fd = -1;
	struct status status;
	struct stat file;
	char path[64];

	if (root_fd < 0 || !read_status(process->pid, &status))
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", status.inner_pid);
	fd = root_open_file_nofollow(root_fd, path);
	if (fd < 0 || fstat(fd, &file))
		return;
	if (file.st_uid != 0 && file.st_uid != status.real_uid &&
	    file.st_uid != status.effective_uid) {
		log_debug("%s of process %d is not used: it belongs to user %u", path, process->pid,
			  file.st_uid);
		return;
	}
	perfmap_set_file(process->map, TAKE_FD(fd));
}

/* Opens what /proc offers, unless the pid is somebody else's by now. */
static void process_names_look(struct process *process)
{
	_cleanup_close_ int root_fd = -1;
	struct stat ours;
	struct stat theirs;

	if (!process->start_time || read_start_time(process->pid) != process->start_time)
		return;
	root_fd = open_root(process->pid);
	if (root_fd < 0)
		return;
	open_map(process, root_fd);
	/*
	 * A root like ours is not kept open: it would add nothing, and there may be thousands of
	 * processes.
	 */
	if (process->root_fd < 0 && !stat("/", &ours) && !fstat(root_fd, &theirs) &&
	    (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino))
		process->root_fd = TAKE_FD(root_fd);
}

struct process *process_set_get(struct process_set *set, pid_t pid, bool renew)
{
	struct process *process;
	uint64_t start_time;

	HASH_FIND(hh, set->processes, &pid, sizeof(pid), process);
	if (process && !renew)
		return process;
	start_time = read_start_time(pid);
	if (process && (!start_time || start_time == process->start_time)) {
		process_names_look(process);
		return process;
	}
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return NULL;
		process->pid = pid;
		process->root_fd = -1;
		HASH_ADD(hh, set->processes, pid, sizeof(process->pid), process);
		if (!process->hh.tbl) { /* how uthash tells that it ran out of memory */
			free(process);
			return NULL;
		}
	} else {
		process_close(process);
	}
	process->serial = ++set->last_serial;
	process->start_time = start_time;
	process->map = perfmap_new();
	if (!process->map)
		return NULL;
	process_names_look(process);
	return process;
}

uint64_t process_set_serial(const struct process_set *set, pid_t pid)
{
	const struct process *process;

	HASH_FIND(hh, set->processes, &pid, sizeof(pid), process);
	return process ? process->serial : 0;
}

void process_ref(struct process *process)
{
	process->refs++;
}

void process_set_unref(struct process_set *set, pid_t pid)
{
	struct process *process;

	HASH_FIND(hh, set->processes, &pid, sizeof(pid), process);
	if (!process || !process->refs || --process->refs)
		return;
	HASH_DEL(set->processes, process);
	process_close(process);
	free(process);
}

size_t process_set_count(const struct process_set *set)
{
	return HASH_COUNT(set->processes);
}

uint64_t process_serial(const struct process *process)
{
	return process->serial;
}

int process_root_fd(const struct process *process)
{
	return process->root_fd;
}

const char *process_jit_symbol(struct process *process, uint64_t address, size_t *len,
			       uint64_t *start)
{
	const char *name;

	if (!process->map)
		return NULL;
	name = perfmap_find(process->map, address, len, start);
	if (name)
		return name;
	/* A runtime may have begun its map, or replaced it by another file, since the last look. */
	process_names_look(process);
	return perfmap_find(process->map, address, len, start);
}
