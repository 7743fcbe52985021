// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* deep N: allocates for ever under about N frames. What the cost of a walk is measured on. */
#include <stdlib.h>

#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

static void *volatile sink;
static volatile int stop; /* never */

__attribute__((noinline)) static int nest(int depth, int a)
{
	volatile int local = a;
	long pad[4];

	KEEP(pad);
	if (depth > 0)
		return nest(depth - 1, a + 1) + local;
	while (!stop) {
		sink = malloc(16);
		free(sink);
	}
	return local;
}

int main(int argc, char **argv)
{
	return nest(argc > 1 ? atoi(argv[1]) : 20, 1);
}
