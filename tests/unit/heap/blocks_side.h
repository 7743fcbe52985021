/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What blocks_side says of the blocks that it has in use, each time that it waits: their count (a
 * uint64_t), then so many of these. It goes on with each byte that it reads.
 */
#ifndef MEMLEAKBPF_TESTS_BLOCKS_SIDE_H
#define MEMLEAKBPF_TESTS_BLOCKS_SIDE_H

#include <stdint.h>

struct side_block {
	uint64_t address, size;
	uint64_t usable; /* malloc_usable_size() */
	uint64_t align;	 /* that was asked for; 0: none */
};

#endif
