// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/uprobe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "user/base/util.h"
#include "user/kernel/probe_event.h"
#include "user/kernel/unkillable.h"

/* Bit 0 of the configuration: /sys/bus/event_source/devices/uprobe/format/retprobe. */
#define AT_RETURN 1
/* Bits 32 to 63: format/ref_ctr_offset there. */
#define COUNTER_SHIFT 32

/*
 * Reads the number of the source (Documentation/ABI/testing/sysfs-bus-event_source-devices); or
 * -errno.
 */
static int source(void)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!f)
		return -errno;
	return fscanf(f, "%d", &type) == 1 ? type : -EINVAL;
}

int uprobe_open_counted(const char *path, uint64_t offset, uint64_t counter, bool at_return,
			pid_t pid)
{
	int type = source(), tries = 3;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		.config = (at_return ? AT_RETURN : 0) | counter << COUNTER_SHIFT,
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	long fd;

	if (type < 0)
		return type;
	if (counter > UINT32_MAX)
		return -ERANGE;
	/* A transient EINVAL was seen once in some hundred on 6.18. */
	do {
		fd = unkillable_syscall(SYS_perf_event_open, (long)&attr, pid ? pid : -1,
					pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	} while (fd == -EINVAL && --tries);
	/* The source may be refused where an event of tracefs is not. */
	if (fd == -EACCES || fd == -EPERM) {
		int event = probe_event_open(path, offset, counter, at_return, pid);

		return event < 0 ? (int)fd : event;
	}
	return (int)fd;
}

int uprobe_open(const char *path, uint64_t offset, bool at_return, pid_t pid)
{
	return uprobe_open_counted(path, offset, 0, at_return, pid);
}
