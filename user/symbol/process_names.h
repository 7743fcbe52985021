/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the names of a process's code need that only the process leads to: its root directory and
 * its perf map, held open so that they outlast it.
 */
#ifndef MEMLEAKBPF_SYMBOL_PROCESS_NAMES_H
#define MEMLEAKBPF_SYMBOL_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_set;
struct process;

struct process_set *process_set_new(void);	/* NULL when out of memory */
void process_set_free(struct process_set *set); /* NULL is fine */

/*
 * The process that has this pid now, or had it when it was last asked for if it is gone. With
 * `renew`, /proc is looked at again: a pid given to another process gets a new entry in place of
 * the old. Owned by the set. NULL when out of memory.
 */
struct process *process_set_get(struct process_set *set, pid_t pid, bool renew);

/* The serial of what the set has under this pid, 0: nothing. */
uint64_t process_set_serial(const struct process_set *set, pid_t pid);

/*
 * Somebody relies on the entry of this pid until process_set_unref(), with which it goes when
 * nobody does any more: children come and go by the thousand. One that was never referenced stays.
 */
void process_ref(struct process *process);
void process_set_unref(struct process_set *set, pid_t pid);
size_t process_set_count(const struct process_set *set);

uint64_t process_serial(const struct process *process); /* never used twice in a set, from 1 */
/* Owned by the process; -1 when unknown or the same as ours. */
int process_root_fd(const struct process *process);

/*
 * The name of JIT-compiled code at an address, see perfmap_find(). NULL when the process has no
 * map, or none that can be trusted: it must be a regular file, no symbolic link, and belong to the
 * process's user or to root.
 */
const char *process_jit_symbol(struct process *process, uint64_t address, size_t *len,
			       uint64_t *start);

#endif
