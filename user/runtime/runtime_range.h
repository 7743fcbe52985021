/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_RANGE_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_RANGE_H

#include <stdint.h>

/* A piece of a file's code. */
struct runtime_range {
	uint64_t start, end; /* offsets in the file; the same: none */
};

#endif
