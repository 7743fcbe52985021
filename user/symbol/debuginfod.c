// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads the library when it is first needed: it brings curl with it. */
#include "user/symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <elfutils/debuginfod.h>

struct debuginfod_library {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_find_executable) *find_executable;
};

int debuginfod_executable(const uint8_t *id, size_t len)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	struct debuginfod_library call;
	debuginfod_client *client;
	int fd = -ENOENT;

	if (!library)
		return -ENOENT;
	call.begin = (__typeof__(call.begin))dlsym(library, "debuginfod_begin");
	call.end = (__typeof__(call.end))dlsym(library, "debuginfod_end");
	call.find_executable =
		(__typeof__(call.find_executable))dlsym(library, "debuginfod_find_executable");
	client = call.begin && call.end && call.find_executable ? call.begin() : NULL;
	if (client) {
		fd = call.find_executable(client, id, (int)len, NULL);
		call.end(client);
	}
	/* It stays loaded: curl's threads and handlers do not like to go. */
	return fd;
}
