// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/object_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "user/base/util.h"
#include "user/process/proc.h"

#define MAX_VDSO_BYTES (1u << 20)

static void map_files_path(pid_t pid, const struct mapping *m, char *path, size_t size)
{
	snprintf(path, size, "/proc/%d/map_files/%jx-%jx", (int)pid, (uintmax_t)m->start,
		 (uintmax_t)m->end);
}

/*
 * On these file systems maps shows the superblock's device, which stat(2) does not; on overlayfs
 * the inode may differ, too.
 */
static bool has_own_numbers(int fd, bool overlay_only)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && ((uint64_t)fs.f_type == OVERLAYFS_SUPER_MAGIC ||
				     (!overlay_only && (uint64_t)fs.f_type == BTRFS_SUPER_MAGIC));
}

/*
 * Is a file the one that the mapping names? Where the device says nothing, the inode number alone
 * has to do.
 */
static bool agrees(int fd, const struct stat *st, const struct mapping *m)
{
	return st->st_ino == m->ino && (st->st_dev == m->dev || has_own_numbers(fd, false));
}

/* Do two paths end in the same name? maps marks a file that has been removed since. */
static bool same_name(const char *a, const char *b)
{
	static const char mark[] = " (deleted)";
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	if (!x || !y)
		return false;
	while (*x && *x == *y) {
		x++;
		y++;
	}
	return (!*x || !strcmp(x, mark)) && (!*y || !strcmp(y, mark));
}

/*
 * Does the mapping still have the file that its record says? When we read the record, another file
 * may have its place. fd is an O_PATH descriptor of the file that is there.
 */
static bool still_there(int fd, const char *link, const struct mapping *m)
{
	char path[4096];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return false;
	if (agrees(fd, &st, m))
		return true;
	n = has_own_numbers(fd, true) ? readlink(link, path, sizeof(path) - 1) : -1;
	if (n < 0)
		return false;
	path[n] = 0;
	return same_name(path, m->path);
}

/*
 * Opens for reading what an O_PATH descriptor found. We look first and open afterwards, so that no
 * FIFO waits and no device driver's open() runs. m is NULL when any regular file will do.
 */
static int reopen_regular(int path_fd, const struct mapping *m)
{
	char self[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (m && !agrees(path_fd, &st, m))
		return -ESTALE;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Opens, with O_PATH, the file of this very mapping. */
static int find_mapped(pid_t pid, const struct mapping *m)
{
	_cleanup_close_ int fd = -1;
	char link[80];

	map_files_path(pid, m, link, sizeof(link));
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		map_files_path(proc_memory_id(pid), m, link, sizeof(link));
		fd = open(link, O_PATH | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	return still_there(fd, link, m) ? TAKE_FD(fd) : -ESTALE;
}

int object_stat_mapping(pid_t pid, const struct mapping *m, struct file_id *id)
{
	_cleanup_close_ int fd = find_mapped(pid, m);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return 0;
}

int object_open_mapping(pid_t pid, const struct mapping *m)
{
	_cleanup_close_ int fd = find_mapped(pid, m);

	return fd < 0 ? fd : reopen_regular(fd, NULL);
}

int object_open_under(int root_fd, const struct mapping *m)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int path_fd = -1;

	if (m->path[0] != '/')
		return -ENOENT;
	path_fd = (int)syscall(SYS_openat2, root_fd, m->path, &how, sizeof(how));
	if (path_fd < 0)
		return -errno;
	return reopen_regular(path_fd, m);
}

int object_open_root(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)proc_memory_id(pid));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int object_open_path(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);

	if (path_fd < 0)
		return -errno;
	return reopen_regular(path_fd, NULL);
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int object_copy_memory(pid_t pid, uint64_t start, uint64_t end)
{
	size_t len = (size_t)(end - start);
	_cleanup_free_ char *copy = NULL;
	_cleanup_close_ int fd = -1;
	struct iovec to, from;
	ssize_t n;
	int err;

	if (end <= start || end - start > MAX_VDSO_BYTES)
		return -E2BIG;
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	to = (struct iovec){.iov_base = copy, .iov_len = len};
	from = (struct iovec){.iov_base = (void *)(uintptr_t)start, .iov_len = len};
	n = process_vm_readv(proc_memory_id(pid), &to, 1, &from, 1, 0);
	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -EFAULT;
	fd = memfd_create("memleakbpf-vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = write_all(fd, copy, len);
	if (err)
		return err;
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
	return TAKE_FD(fd);
}
