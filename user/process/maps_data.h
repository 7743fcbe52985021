/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds where the data of programs and libraries ends. The rest of an object's variables (.bss) is
 * anonymous memory right behind the file's mapping. Other memory mapped behind it appears in the
 * same line of /proc/PID/maps.
 */
#ifndef MEMLEAKBPF_PROCESS_MAPS_DATA_H
#define MEMLEAKBPF_PROCESS_MAPS_DATA_H

#include "user/process/maps.h"

/*
 * Cuts anonymous mappings at the ends of objects' data, and marks the parts that are no object's
 * (mapping.apart). The ends come from the program headers in the process's memory. `read` returns
 * how many bytes of that memory it has read. What it cannot read stays as it is. 0 or -ENOMEM.
 */
int maps_cut_data(struct maps *maps,
		  size_t (*read)(void *ctx, uint64_t address, void *to, size_t size), void *ctx);

#endif
