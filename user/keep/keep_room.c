// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_room.h"

#include <errno.h>
#include <unistd.h>

#include "user/process/cgroup.h"
#include "user/process/memory.h"

/* Of a control group's memory so much is to stay; of what we may have, an eighth, for those that are sampled to grow. */
#define MEMORY_SPARE  (32ull << 20)
#define MEMORY_LITTLE (MEMORY_SPARE / 2)
#define MEMORY_PARTS  8

static bool keep_has_memory(uint64_t most, uint64_t spare, char reason[static REASON_MAX])
{
	struct cgroup_memory left;
	uint64_t resident = 0, anon;
	struct cgroup group;

	if (!proc_memory(getpid(), &resident, &anon) && resident > most) {
		refuse(reason, -ENOMEM, "memleakbpf has more memory than --keep-memory allows");
		return false;
	}
	if (!cgroup_read(getpid(), &group) && !cgroup_memory_left(&group, &left) &&
	    left.left < spare) {
		refuse(reason, -ENOMEM, "memleakbpf's control group has too little memory left");
		return false;
	}
	return true;
}

bool keep_has_room(const struct survey_keep_config *keep, char reason[static REASON_MAX])
{
	return keep_has_memory(keep->memory - keep->memory / MEMORY_PARTS, MEMORY_SPARE, reason);
}

bool keep_is_too_much(const struct survey_keep_config *keep, char reason[static REASON_MAX])
{
	return !keep_has_memory(keep->memory, MEMORY_LITTLE, reason);
}
