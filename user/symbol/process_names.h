/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's root directory and perf map, which the names of its code need. They are held open so
 * that they outlast the process.
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
 * The process that has this pid now, or, if it is gone, had it at the last call. `renew` looks at
 * /proc again: a pid given to another process gets a new entry in place of the old. Owned by the
 * set. NULL when out of memory.
 */
struct process *process_set_get(struct process_set *set, pid_t pid, bool renew);

/* The serial of the set's entry for this pid, 0: there is none. */
uint64_t process_set_serial(const struct process_set *set, pid_t pid);

/*
 * The caller relies on the entry of this pid until process_set_unref(). The entry goes with its
 * last reference: children come and go by the thousand. An entry that was never referenced stays.
 */
void process_ref(struct process *process);
void process_set_unref(struct process_set *set, pid_t pid);
size_t process_set_count(const struct process_set *set);

uint64_t process_serial(const struct process *process); /* never used twice in a set, from 1 */
/* Owned by the process; -1 when unknown or the same as ours. */
int process_root_fd(const struct process *process);

/*
 * Finds the name of JIT-compiled code at an address: perfmap_find(). NULL when the process has no
 * map, or none that can be trusted. A trusted map is a regular file, no symbolic link, and belongs
 * to the process's user or to root.
 */
const char *process_jit_symbol(struct process *process, uint64_t address, size_t *len,
			       uint64_t *start);

#endif
