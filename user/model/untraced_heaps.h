/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heaps that a runtime collects by itself. Leaks in them are in none of our numbers, and reports
 * say so.
 */
#ifndef MEMLEAKBPF_MODEL_UNTRACED_HEAPS_H
#define MEMLEAKBPF_MODEL_UNTRACED_HEAPS_H

#include <stdint.h>

/* Numbers are those of recordings. */
enum untraced_heap {
	UNTRACED_JAVA, /* HotSpot's */
	UNTRACED_V8,
	UNTRACED_GO,
	UNTRACED_HEAPS,
};

struct untraced_heaps {
	uint64_t kinds;			/* 1 << enum untraced_heap: the process has such a heap */
	uint64_t bytes[UNTRACED_HEAPS]; /* of each, in memory or swapped out; 0: unknown */
};

/* For people ("Java's own heap"), and as JSON has it ("java"). */
const char *untraced_heap_text(enum untraced_heap kind);
const char *untraced_heap_name(enum untraced_heap kind);

#endif
