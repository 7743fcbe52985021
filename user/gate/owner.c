// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/proc.h"

static void owner_path(pid_t pid, uint64_t start, uint64_t size, char path[static 96])
{
	snprintf(path, 96, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)start,
		 (unsigned long long)start + size);
}

/*
 * A lock for one alone needs a file open for writing. The process may have a lease on its own file
 * (F_SETLEASE), which would hold us up for /proc/sys/fs/lease-break-time, 45 s, for each such file.
 */
static int owner_open_path(const char *path)
{
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

int owner_open(pid_t pid, uint64_t start, uint64_t size)
{
	char path[96];

	owner_path(pid, start, size, path);
	return owner_open_path(path);
}

int owner_open_made(pid_t pid, long number, const char *name)
{
	char path[64], wanted[64], found[64];
	_cleanup_close_ int there = -1;
	struct stat st;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)pid, number);
	/*
	 * O_PATH only looks: to open the process's present file may do something. The descriptor
	 * keeps meaning the file that we looked at.
	 */
	there = open(path, O_PATH | O_CLOEXEC);
	if (there < 0)
		return errno == ENOENT ? -EBUSY : -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", there);
	snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", name);
	length = readlink(path, found, sizeof(found) - 1);
	found[length > 0 ? length : 0] = '\0';
	if (strcmp(found, wanted) != 0 || fstat(there, &st) || !S_ISREG(st.st_mode) || st.st_size)
		return -EBUSY;
	file = owner_open_path(path);
	return file < 0 ? -errno : file;
}

static bool owner_is_same(const char *path, int file)
{
	struct stat ours, its;

	return !fstat(file, &ours) && !stat(path, &its) && ours.st_dev == its.st_dev &&
	       ours.st_ino == its.st_ino;
}

bool owner_is_number(pid_t pid, long number, int file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)pid, number);
	return owner_is_same(path, file);
}

bool owner_is_mapped(pid_t pid, uint64_t start, uint64_t size, int file)
{
	char path[96];

	owner_path(pid, start, size, path);
	return owner_is_same(path, file);
}

int owner_take(int file)
{
	/*
	 * From the byte of our process id to the end: all such locks overlap, and each tells its
	 * owner.
	 */
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = getpid()};

	if (!fcntl(file, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

/* The owner's process id. 0: nobody; -1: unknown. */
static pid_t owner_of(int file)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(file, F_OFD_GETLK, &lock))
		return -1;
	if (lock.l_type == F_UNLCK)
		return 0;
	return lock.l_start > 0 && lock.l_start <= INT_MAX ? (pid_t)lock.l_start : -1;
}

bool owner_is_other(int file)
{
	return owner_of(file) != 0;
}

const char *owner_name(int file, char name[static OWNER_NAME_MAX])
{
	pid_t pid = owner_of(file);
	char ours[16] = "", its[16] = "";

	if (!pid)
		return NULL;
	/* The target can lock its own files, too, with any number. */
	if (pid > 0 && !proc_comm(getpid(), ours) && !proc_comm(pid, its) && !strcmp(ours, its))
		snprintf(name, OWNER_NAME_MAX, "another memleakbpf (process %d)", (int)pid);
	else
		snprintf(name, OWNER_NAME_MAX, "another memleakbpf");
	return name;
}
