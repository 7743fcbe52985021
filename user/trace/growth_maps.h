/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which mappings of a process have come since, and how much memory they have. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_GROWTH_MAPS_H
#define MEMLEAKBPF_TRACE_GROWTH_MAPS_H

#include <stdint.h>
#include <sys/types.h>

/* Where a process could have memory of its own. */
struct growth_maps;

struct growth_maps *growth_maps_none(void);	 /* nowhere; NULL when out of memory */
struct growth_maps *growth_maps_read(pid_t pid); /* now; NULL: cannot be read, or no memory */
void growth_maps_free(struct growth_maps *maps); /* NULL is fine */

/*
 * What the process has where it had nothing then: bytes in private mappings of files, bytes in
 * other private ones but [heap] and the heaps of glibc's arenas; and, a line each, the three kinds of
 * memory that have grown most, of `grown` bytes altogether (free(); NULL: none). 0 or -errno, not
 * logged. Takes some milliseconds per GiB that is there, and does not stop the process.
 */
int growth_maps_look(const struct growth_maps *then, pid_t pid, uint64_t grown, uint64_t *files,
		     uint64_t *elsewhere, char **where);

#endif
