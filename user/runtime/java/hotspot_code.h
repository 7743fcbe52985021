/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which methods a frame of HotSpot's stands for, and where they are in their sources; read from the process while it runs. */
#ifndef MEMLEAKBPF_RUNTIME_HOTSPOT_CODE_H
#define MEMLEAKBPF_RUNTIME_HOTSPOT_CODE_H

#include "user/runtime/java/hotspot_layout.h"

#define HOTSPOT_INLINED_MAX 64

struct hotspot_place {
	const char *
		function; /* a class with its package, and the method; or what the code is called */
	const char *file; /* as the class says it; NULL: it does not */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* into the next one */
};

/*
 * Calls back for each method, the innermost first. The strings are UTF-8 of any characters, and
 * last for the call. 0, or without a call:
 *
 * - -ESTALE: the call was in other code than what is there now
 * - -EFAULT: it cannot be read, or makes no sense
 */
int hotspot_code_places(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			const struct runtime_call *call,
			void (*add)(void *ctx, const struct hotspot_place *place), void *ctx);

#endif
