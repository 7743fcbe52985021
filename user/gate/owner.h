/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which tool has what is in a process: who has a gate or guards there holds a lock on the file in memory that their
 * code is mapped from, from before it is mapped until all that it does there is done. The kernel ends the lock with
 * the last descriptor of that opening, so a tool that is killed keeps nobody away. It is on the file, not on a name, so
 * it holds across namespaces and for all processes that share the memory. Probes in the code say as much, but come
 * later than the pages and go later than the jumps.
 */
#ifndef MEMLEAKBPF_GATE_OWNER_H
#define MEMLEAKBPF_GATE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The file that the mapping there shows, of `size` bytes, for owner_take(); to be closed. -1: it cannot be opened. */
int owner_open(pid_t pid, uint64_t start, uint64_t size);

/*
 * The empty file in memory of that name that the process has just been made to make, by its number there; to be closed.
 * -EBUSY: its number is another file's by now, which another thread of the process has put there, and it is left
 * alone; or another -errno.
 */
int owner_open_made(pid_t pid, long number, const char *name);

/* Is it still that one? */
bool owner_is_number(pid_t pid, long number, int file);

/* Does that mapping still show it? Before the lock was had another one may have unmapped it. */
bool owner_is_mapped(pid_t pid, uint64_t start, uint64_t size, int file);

/* Until the file is closed. 0; -EBUSY: another one has it; or another -errno. */
int owner_take(int file);

/* Has another one than this opening of the file taken it? True also where that cannot be told. */
bool owner_is_other(int file);

/*
 * The same in words: "another memleakbpf", with its process where that is known, which it is not across namespaces;
 * NULL: nobody has it.
 */
#define OWNER_NAME_MAX 48
const char *owner_name(int file, char name[static OWNER_NAME_MAX]);

#endif
