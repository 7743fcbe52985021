/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of JIT-compiled code, from a runtime's /tmp/perf-PID.map: "START SIZE NAME" lines, in
 * hexadecimal (tools/perf/Documentation/jit-interface.txt in the Linux sources). The file belongs
 * to a target: it may be anything.
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
 * Takes over an open map file, and closes it. It may replace an earlier map that is another file
 * now.
 */
void perfmap_set_file(struct perfmap *map, int fd);

/*
 * Finds the name and the start of the code at an address; NULL when there is none. Reads the file
 * on the first call, and again when it has changed and the address was not found. Of overlapping
 * entries the latest in the file wins. `*len` bytes, not ended by NUL; valid until the next call.
 */
const char *perfmap_find(struct perfmap *map, uint64_t address, size_t *len, uint64_t *start);

#endif
