/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which pages of a process's memory exist, and reading them. Looking at a page that does not exist
 * yet would make the process grow (a page of zeros for shared memory, a page table for private
 * memory): they are never read.
 */
#ifndef MEMLEAKBPF_FREEZE_RESIDENT_H
#define MEMLEAKBPF_FREEZE_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct resident;

/* 0, or -errno, not logged. *out is freed with resident_close(). */
int resident_open(pid_t pid, struct resident **out);
void resident_close(struct resident *resident); /* NULL is fine */

/*
 * Calls fn for each run of pages in [start, end) that are in memory or swapped out and are not the
 * shared page of zeros; with `own_only` only those that are the process's own, not the file's that
 * is mapped there. In order of address. 0, -errno, or what fn returned if that was not 0.
 */
int resident_scan(struct resident *resident, uint64_t start, uint64_t end, bool own_only,
		  int (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/*
 * Is it still the memory of any process? After an exec, or an end, what is read by the process's id is another
 * program's, or nothing.
 */
bool resident_is_there(const struct resident *resident);

/*
 * Copies [start, start + size) of it. Returns how many bytes from the start could be read: all of
 * them, or fewer where the memory is gone.
 */
size_t resident_read(const struct resident *resident, uint64_t start, void *to, size_t size);

#endif
