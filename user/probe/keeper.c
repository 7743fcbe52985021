// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/keeper.h"

#include <errno.h>
#include <stdlib.h>

#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"
#include "user/probe/probe.h"
#include "user/process/object.h"

struct keeper {
	size_t count;
	int fds[]; /* perf events */
};

int keeper_new(const struct probe_set *set, pid_t tid, struct keeper **out)
{
	const struct object *object = set->provider->object;
	struct keeper *keeper = calloc(1, sizeof(*keeper) + set->count * sizeof(keeper->fds[0]));

	if (!keeper)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		int fd = uprobe_open_counted(object_fd_path(object), set->probes[i].offset,
					     set->probes[i].semaphore, false, tid);

		if (fd < 0) {
			keeper_free(keeper);
			return fd;
		}
		keeper->fds[keeper->count++] = fd;
	}
	*out = keeper;
	return 0;
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	for (size_t i = keeper->count; i-- > 0;)
		unkillable_close(keeper->fds[i]);
	free(keeper);
}
