// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int pagemap_open(pid_t memory)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)memory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
