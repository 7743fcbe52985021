// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/keep_room.h"

#include <errno.h>
#include <unistd.h>

#include "user/process/cgroup.h"
#include "user/process/memory.h"

/* Of a control group's memory so much is to stay. */
#define MEMORY_SPARE (32ull << 20)

bool keep_has_room(const struct survey_keep_config *keep, size_t sampled,
		   char reason[static REASON_MAX])
{
	struct cgroup_memory left;
	uint64_t resident = 0, anon;
	struct cgroup group;

	if (sampled >= keep->processes) {
		refuse(reason, -EUSERS, "%u are sampled already (--keep-processes)",
		       keep->processes);
		return false;
	}
	if (!proc_memory(getpid(), &resident, &anon) && resident > keep->memory) {
		refuse(reason, -ENOMEM, "memleakbpf has more memory than --keep-memory allows");
		return false;
	}
	if (!cgroup_read(getpid(), &group) && !cgroup_memory_left(&group, &left) &&
	    left.left < MEMORY_SPARE) {
		refuse(reason, -ENOMEM, "memleakbpf's control group has too little memory left");
		return false;
	}
	return true;
}
