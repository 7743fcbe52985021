// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "user/base/util.h"

_Static_assert(ROOT_OURS == AT_FDCWD, "openat() takes it for \"no directory\"");

static int open_in_root(int root_fd, const char *path, int extra_flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra_flags),
		.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT,
	};
	_cleanup_close_ int fd = -1;
	struct stat status;

	/* openat2(2) came with Linux 5.6, so every kernel that this tool loads on has it. */
	if (root_fd == ROOT_OURS)
		fd = open(path, (int)how.flags);
	else
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	return TAKE_FD(fd);
}

int root_open_file(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, 0);
}

int root_open_file_nofollow(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, O_NOFOLLOW);
}
