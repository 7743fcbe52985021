// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "user/base/util.h"

_Static_assert(ROOT_OURS == AT_FDCWD, "openat() takes it for \"no directory\"");

/*
 * Opens for reading what an O_PATH descriptor leads to, by /proc's magic link, which cannot lead
 * elsewhere.
 */
static int root_reopen(int path_fd)
{
	char self[32];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/*
 * Looks first and opens then. To open a device is to run its driver, and with some (watchdogs,
 * tapes) that alone does harm. Anybody may have put the device or a link to it there.
 */
static int open_in_root(int root_fd, const char *path, int extra_flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | extra_flags),
		.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT,
	};
	_cleanup_close_ int path_fd = -1;
	struct stat status;

	/* openat2(2) came with Linux 5.6: every kernel that this tool loads on has it. */
	if (root_fd == ROOT_OURS)
		path_fd = open(path, (int)how.flags);
	else
		path_fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &status))
		return -errno;
	if (S_ISLNK(status.st_mode)) /* O_PATH with O_NOFOLLOW opens the link itself */
		return -ELOOP;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	return root_reopen(path_fd);
}

int root_open_file(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, 0);
}

int root_open_file_nofollow(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, O_NOFOLLOW);
}
