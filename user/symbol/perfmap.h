/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of JIT-compiled code, as a runtime writes them to /tmp/perf-PID.map: "START SIZE NAME"
 * lines, in hexadecimal (tools/perf/Documentation/jit-interface.txt in the Linux sources). The file
 * belongs to a target: it may be anything.
 */
#ifndef MEMLEAKBPF_SYMBOL_PERFMAP_H
#define MEMLEAKBPF_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perfmap;

struct perfmap *perfmap_new(void);	/* empty; NULL when out of memory */
void perfmap_free(struct perfmap *map); /* NULL is fine */

/*
 * Takes over an open map file, also in place of an earlier one that is another file now. The
 * descriptor is closed by the map.
 */
void perfmap_set_file(struct perfmap *map, int fd);

/*
 * The name of the code at an address, and the start of that code; NULL when there is none. The file
 * is read on the first call, and again when it has changed and the address was not found. Of
 * entries that overlap the latest in the file wins. `*len` bytes, not ended by NUL; valid until the
 * next call.
 */
const char *perfmap_find(struct perfmap *map, uint64_t address, size_t *len, uint64_t *start);

#endif
