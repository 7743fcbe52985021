// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A plugin whose frames have the size FRAME: built twice, so that tables of one are wrong for the
 * other.
 */
#include "truth.h"

#include <stdlib.h>

#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

extern void plugin_run(int depth);
static void *volatile sink;

__attribute__((noinline)) void plugin_run(int depth)
{
	char frame[FRAME];

	KEEP(frame);
	if (depth) {
		plugin_run(depth - 1);
	} else {
		truth_arm();
		sink = malloc(16);
		truth_disarm();
	}
	KEEP(frame);
}
