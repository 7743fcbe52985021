// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Holds what it is given, in its data and in its thread-local variables: verdict_dl loads and
 * unloads it.
 */
#include <stddef.h>

#define HELD 64

void *plugin_data[HELD] = {(void *)1};
void *plugin_bss[HELD];
/*
 * The model of every library that may be loaded late: the block comes with the thread's first use.
 */
__thread void *plugin_tls[HELD] __attribute__((tls_model("global-dynamic")));

void **plugin_place(int kind);

void **plugin_place(int kind)
{
	switch (kind) {
	case 0:
		return plugin_data;
	case 1:
		return plugin_bss;
	default:
		return plugin_tls;
	}
}
