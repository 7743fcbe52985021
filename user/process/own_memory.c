// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/own_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/cgroup.h"
#include "user/process/memory.h"

/* How many bytes of a control group's path are shown, from its end. */
#define NAMED 40

struct own_memory {
	uint64_t bytes;
	bool by_group;
	struct cgroup_memory group;
};

static int own_memory_look(struct own_memory *own)
{
	_cleanup_free_ struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int err = machine_memory_left(&own->bytes);

	if (err)
		own->bytes = UINT64_MAX;
	own->by_group = cgroup && !cgroup_read(getpid(), cgroup) &&
			!cgroup_memory_left(cgroup, &own->group) && own->group.left < own->bytes;
	if (!own->by_group)
		return err;
	own->bytes = own->group.left;
	return 0;
}

int own_memory_left(uint64_t *bytes)
{
	struct own_memory own;
	int err = own_memory_look(&own);

	*bytes = err ? 0 : own.bytes;
	return err;
}

bool own_memory_limit(char *text, size_t size)
{
	struct own_memory own;
	size_t length;

	if (own_memory_look(&own) || !own.by_group)
		return false;
	length = strlen(own.group.directory);
	snprintf(text, size, "%s of %s%s", own.group.limit, length > NAMED ? "…" : "",
		 own.group.directory + (length > NAMED ? length - NAMED : 0));
	return true;
}
