// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A plugin that leaks. */
#include <stdlib.h>

void *plugin_b_leak(size_t size);

void *plugin_b_leak(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" ::: "memory");
	return p;
}
