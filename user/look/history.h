/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of all processes over time, in bounded memory, and which of them are the most suspect.
 * Processes are known by pid and start time.
 */
#ifndef MEMLEAKBPF_LOOK_HISTORY_H
#define MEMLEAKBPF_LOOK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/process_sample.h"
#include "user/model/trend.h"
#include "user/regime/regime.h"

#define HISTORY_FLOOR_BYTES (1024 * 1024) /* a process that changes by less does not grow */
#define HISTORY_MAX	    16384	  /* processes with a history; at most 4 KiB each */

struct history;

struct history_process {
	struct process_sample now; /* as last seen */
	struct trend trend;
	double left; /* bytes until its memory is full; INFINITY: unknown, or not asked of what does not grow */
	struct regime_judgement growth; /* unless of_children; times as history_update()'s */
	bool of_children;		/* the trend is that of `children` */
	bool ended; /* was not there any more at the last update: shown once, then forgotten */
	uint64_t samples;
	/* with theirs, where the source counts exits; else those that were seen */
	uint64_t children_exited;
	/* bytes: the largest resident set that one of them had; 0: unknown */
	uint64_t children_peak;
	uint64_t low_then, low_now; /* lowest in the first and the last third of the watch, bytes */
	void *user_data;	    /* of the history's user */
};

/* What the history's user knows. `left` and `lineage` may be NULL. */
struct history_hooks {
	/* For each process's user_data that is not NULL, when the process is forgotten. */
	void (*release)(void *user_data);
	/* Bytes that are left until its memory is full; INFINITY: unknown. Asked only of what grows. */
	double (*left)(struct history_process *process);
	/*
	 * The same number for processes of which one takes the place of the other: the same program
	 * of the same unit. 0: none. Asked when a process is settled, and of nobody who has ended.
	 */
	uint64_t (*lineage)(struct history_process *process);
};

/* look_ns: between two updates, as a rule. NULL when out of memory. */
struct history *history_new(uint64_t look_ns, const struct history_hooks *hooks);
void history_free(struct history *history); /* NULL is fine */

/*
 * Takes in all processes at one time (nanoseconds of any clock, ascending) and judges them. Those
 * that have ended since stay, marked, until the next call. 0 or -ENOMEM.
 */
int history_update(struct history *history, uint64_t time_ns, const struct process_list *list);

/*
 * A look in between: of those that are there already the memory is taken in, and what grows is
 * judged anew. Nobody begins or ends by it. 0 or -ENOMEM.
 */
int history_look_closer(struct history *history, uint64_t time_ns, const struct process_list *list);

/*
 * Is anybody's memory full within so many seconds, or would be at the pace of the last look? Then
 * looks should come closer.
 */
bool history_is_urgent(const struct history *history, double within_s);

/*
 * The processes, the most suspect first; the array is the history's, valid until the next update.
 * NULL with *count 0 without memory.
 */
struct history_process *const *history_ranked(struct history *history, size_t *count);

/* NULL: no such process, or it has ended. */
struct history_process *history_find(struct history *history, pid_t pid);

/* The same of one that began then, also where it was not there any more at the last update. */
struct history_process *history_find_begun(struct history *history, pid_t pid,
					   uint64_t start_ticks);

/*
 * Anon + swap of the watch for a sparkline, oldest first: trend_values() of what the trend is
 * about.
 */
size_t history_values(const struct history_process *process, double *values, size_t max);

/* Processes left out for want of room, at the last update. */
size_t history_left_out(const struct history *history);

static inline uint64_t process_bytes(const struct process_sample *process)
{
	return process->anon + process->swap;
}

#endif
