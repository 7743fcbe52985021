// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/caller_file.h"

#include <errno.h>

#include "user/kernel/privilege.h"

FILE *caller_file_open(const char *path, const char *mode)
{
	uint64_t lent = privilege_as_caller();
	FILE *file = fopen(path, mode);
	int err = errno;

	privilege_back(lent);
	errno = err;
	return file;
}
