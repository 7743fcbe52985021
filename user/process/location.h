/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A place in code, as the names of addresses need it. */
#ifndef MEMLEAKBPF_PROCESS_LOCATION_H
#define MEMLEAKBPF_PROCESS_LOCATION_H

#include <stdint.h>

struct object;

/* Where an address of a process points, independent of where things were mapped. */
struct location {
	/*
	 * borrowed from whoever located it (an image keeps every object it ever had); NULL: code without a file
	 * (JIT)
	 */
	struct object *object;
	uint64_t offset; /* bytes into the object's file; the plain address when object is NULL */
};

#endif
