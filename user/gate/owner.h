/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which tool owns a gate or guards in a process? Their code is mapped from a file in memory. The
 * owner holds a lock on that file, from before the mapping until its work there is done. The kernel
 * ends the lock with the last descriptor of that opening, so a killed tool keeps nobody away. The
 * lock is on the file, not on a name: it holds across namespaces, and for all processes that share
 * the memory. Probes in the code tell less: they come later than the pages and go later than the
 * jumps.
 */
#ifndef MEMLEAKBPF_GATE_OWNER_H
#define MEMLEAKBPF_GATE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens the file of `size` bytes that the mapping shows, for owner_take(); to be closed. -1: it
 * cannot be opened.
 */
int owner_open(pid_t pid, uint64_t start, uint64_t size);

/*
 * Opens the empty file in memory of that name that the process has just been made to make, by its
 * number there; to be closed. -EBUSY: another thread has put another file at that number, which is
 * left alone. Or another -errno.
 */
int owner_open_made(pid_t pid, long number, const char *name);

/* Does the number still mean that file? */
bool owner_is_number(pid_t pid, long number, int file);

/*
 * Does the mapping still show that file? Before we had the lock, another tool may have unmapped it.
 */
bool owner_is_mapped(pid_t pid, uint64_t start, uint64_t size, int file);

/* Locks the file until it is closed. 0; -EBUSY: another tool has it; or another -errno. */
int owner_take(int file);

/* Has another opening of the file the lock? True also where that cannot be told. */
bool owner_is_other(int file);

/*
 * The owner in words: "another memleakbpf", with its process where that is known (not across
 * namespaces); NULL: nobody has it.
 */
#define OWNER_NAME_MAX 48
const char *owner_name(int file, char name[static OWNER_NAME_MAX]);

#endif
