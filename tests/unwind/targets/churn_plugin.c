// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A plugin of churn.c whose frames have the size FRAME: built twice, so that tables of one are
 * wrong for the other.
 */
#include <stdlib.h>

#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

extern void churn_allocate(int depth, void *volatile *sink);

__attribute__((noinline)) void churn_allocate(int depth, void *volatile *sink)
{
	char frame[FRAME];

	KEEP(frame);
	if (depth)
		churn_allocate(depth - 1, sink);
	else
		*sink = malloc(16);
	KEEP(frame);
}
