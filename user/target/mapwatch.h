/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Watches executable mappings appear, system-wide, by the kernel's perf side-band (MMAP2 and COMM
 * records of a dummy event per CPU). The records are complete: a process that has died since can
 * still be named. Format: perf_event_open(2).
 */
#ifndef MEMLEAKBPF_TARGET_MAPWATCH_H
#define MEMLEAKBPF_TARGET_MAPWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/clock.h"
#include "user/process/maps.h"

/*
 * One record wakes the reader, so a dlopened allocator is seen at once. On a machine that starts
 * programs all the time that would be thousands of wake-ups a second. So a timer waits for records
 * that are closer together than this.
 */
#define MAPWATCH_QUIET_NS (10 * NS_PER_MS)

/* Where the kernel refuses to tell, the mappings are to be looked at once in so many seconds. */
#define MAPWATCH_LOOK_S 1

struct mapwatch;

struct mapwatch_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid, tid;
	bool exec; /* a COMM record by execve: the process starts anew, its old mappings are gone */
	struct mapping mapping; /* unless exec; the path is valid during the callback only */
};

struct mapwatch_callbacks {
	void *ctx;
	/* asked first: records of other processes are dropped */
	bool (*wanted)(void *ctx, pid_t pid);
	void (*record)(void *ctx, const struct mapwatch_record *record);
};

/*
 * Starts watching. Errors are logged. Where the kernel permits no such events (mapwatch_refused()) no
 * record comes, and mapwatch_lost() rises each MAPWATCH_LOOK_S.
 */
int mapwatch_new(const struct mapwatch_callbacks *callbacks, struct mapwatch **out);
void mapwatch_free(struct mapwatch *watch); /* NULL is fine */

/* Readable when there are records: one epoll descriptor over all CPUs. */
int mapwatch_fd(const struct mapwatch *watch);

/* Calls back for every record there is, in time order across CPUs. Never blocks. */
int mapwatch_drain(struct mapwatch *watch);

/* 0, or the -errno by which the kernel has refused the events. */
int mapwatch_refused(const struct mapwatch *watch);
/* Something is known to have been mapped: it counts as lost, if no record can tell of it. */
void mapwatch_note(struct mapwatch *watch);

/* Records the kernel had no room for, since the start. */
uint64_t mapwatch_lost(const struct mapwatch *watch);

#endif
