/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mappings that a process has made since a moment, and their memory. Private to user/growth. */
#ifndef MEMLEAKBPF_GROWTH_GROWTH_MAPS_H
#define MEMLEAKBPF_GROWTH_GROWTH_MAPS_H

#include <stdint.h>
#include <sys/types.h>

/* Where a process could have memory of its own. */
struct growth_maps;

struct growth_maps *growth_maps_none(void);	 /* nowhere; NULL when out of memory */
struct growth_maps *growth_maps_read(pid_t pid); /* now; NULL: cannot be read, or no memory */
void growth_maps_free(struct growth_maps *maps); /* NULL is fine */

/*
 * Looks at the memory that the process has where it had none at the time of `then`:
 * - *files: bytes in private mappings of files
 * - *elsewhere: bytes in other private mappings but [heap] and the heaps of glibc's arenas
 * - *where: the three kinds of memory that have grown most, a line each (free(); NULL: none)
 *
 * `grown` is the growth of all kinds together. Takes some milliseconds per GiB of new memory, and
 * does not stop the process. 0 or -errno, not logged.
 */
int growth_maps_look(const struct growth_maps *then, pid_t pid, uint64_t grown, uint64_t *files,
		     uint64_t *elsewhere, char **where);

#endif
