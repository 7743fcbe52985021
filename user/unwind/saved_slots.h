/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in its frame a function keeps its caller's registers. The compact tables (cfi.h) leave that
 * out, as a walk does not need it. For the few frames of a thread at its end, not for walks.
 */
#ifndef MEMLEAKBPF_UNWIND_SAVED_SLOTS_H
#define MEMLEAKBPF_UNWIND_SAVED_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "user/process/object.h"

#define SAVED_SLOTS_MAX 32 /* more registers than either machine lets a function save */

struct saved_slots {
	int64_t offsets[SAVED_SLOTS_MAX]; /* from the canonical frame address, of 8 bytes each */
	size_t count;
};

/*
 * Finds the slots at one address of the object's code, by .eh_frame or .debug_frame (DWARF 5
 * section 6.4). `vaddr` is the link-time address; in a frame that waits for a call, the call's, not
 * the return's. 0. -ENOENT where the tables say nothing of that address, or nothing that fits such
 * offsets. Not logged.
 */
int saved_slots_find(const struct object *object, uint64_t vaddr, struct saved_slots *out);

#endif
