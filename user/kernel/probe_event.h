/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Single uprobes by events that are made in tracefs. Kernels since the repair of CVE-2025-38466 have
 * the uprobe source of perf events for CAP_SYS_ADMIN only. An event of tracefs takes CAP_PERFMON, and
 * the right to write uprobe_events. Its name stays behind if we are killed, without a probe.
 */
#ifndef MEMLEAKBPF_KERNEL_PROBE_EVENT_H
#define MEMLEAKBPF_KERNEL_PROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As uprobe_open_counted(). -ENOENT: tracefs is not mounted. */
int probe_event_open(const char *path, uint64_t offset, uint64_t counter, bool at_return,
		     pid_t pid);

/*
 * Takes away the names of events that nobody has open: of tools that have ended, and with `own` ours as
 * well. How many there were.
 */
unsigned probe_events_sweep(bool own);

#endif
