/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds which pages of a process's memory exist, and reads them. Pages that do not exist yet are
 * never read: that would make the process grow. Shared memory would get a page of zeros, private
 * memory a page table.
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
 * Calls fn for each run of pages in [start, end) that are in memory or swapped out, without the
 * shared page of zeros. With `own_only` only for the process's own pages, not for those of the
 * mapped file. In order of address. 0, -errno, or what fn returned if that was not 0.
 */
int resident_scan(struct resident *resident, uint64_t start, uint64_t end, bool own_only,
		  int (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/*
 * Is it still a process's memory? After an exec or the end, reads by the process's id give another
 * program's memory, or nothing.
 */
bool resident_is_there(const struct resident *resident);

/*
 * Copies [start, start + size). Returns how many bytes from the start could be read: all, or fewer
 * where memory is gone.
 */
size_t resident_read(const struct resident *resident, uint64_t start, void *to, size_t size);

#endif
