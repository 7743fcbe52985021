/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a process grown by memory that no traced function gave out? Its anonymous memory (resident
 * and swapped out) is read at the beginning, and with each snapshot from /proc/PID/status. The
 * mappings and their pages are read only when that memory has grown well beyond the live blocks.
 */
#ifndef MEMLEAKBPF_GROWTH_GROWTH_H
#define MEMLEAKBPF_GROWTH_GROWTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct snapshot;

/* What a process had when tracing it began. */
struct growth_watch;

enum growth_from {
	GROWTH_NEW,	 /* its program has just begun: it had nothing */
	GROWTH_ATTACHED, /* it has what it has now */
	/* the same, without its mappings: many children live too briefly to read them */
	GROWTH_FORKED,
};

/* NULL: no memory is left, or the process is gone. */
struct growth_watch *growth_watch_new(pid_t pid, enum growth_from from);
void growth_watch_free(struct growth_watch *watch); /* NULL is fine */

/* The process at the moment of a snapshot. */
struct growth_process {
	pid_t pid;
	bool ended;
	uint64_t end_anon; /* bytes of anonymous memory that it ended with; 0: unknown */
	bool blind; /* some allocations are not counted: an option says so, or they were lost */
	bool mmap_traced; /* mappings count as blocks */
	/* Is glibc its only traced allocator? Asked for only when the mappings are looked at. */
	bool (*is_glibc)(void *ctx);
	void *ctx;
};

/*
 * Fills in snapshot->memory and snapshot->growth. Without a watch (NULL) the growth is unknown.
 * Takes some 40 us. Where the growth matters, each GiB of new memory takes some milliseconds more,
 * and at most a twentieth of the time.
 */
void growth_read(struct growth_watch *watch, const struct growth_process *process,
		 struct snapshot *snapshot);

/* Hands on memory, heaps and growth from a snapshot to the one that takes its place. */
void growth_hand_on(struct snapshot *from, struct snapshot *to);

#endif
