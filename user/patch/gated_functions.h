/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which functions of an allocator get a gate, and what they are. */
#ifndef MEMLEAKBPF_PATCH_GATED_FUNCTIONS_H
#define MEMLEAKBPF_PATCH_GATED_FUNCTIONS_H

#include "user/base/reason.h"
#include "user/gate/gate.h"
#include "user/patch/object_text.h"

struct patched;
struct probe_set;

struct gated_functions {
	struct gate_wanted *items;
	uint64_t *pcs; /* of each: where stacks begin, as with a probe of its own */
	size_t count;
	struct object_text text; /* that they are in */
};

/*
 * All that need one, of the set's object in the process. 0; or -errno with the reason: then the
 * object is to have none. gated_functions_free() in any case.
 */
int gated_functions_find(const struct patched *patched, const struct probe_set *set,
			 struct gated_functions *out, char reason[static REASON_MAX]);
void gated_functions_free(struct gated_functions *functions);

#endif
