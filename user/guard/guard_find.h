/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds guards that are in a process already. */
#ifndef MEMLEAKBPF_GUARD_GUARD_FIND_H
#define MEMLEAKBPF_GUARD_GUARD_FIND_H

#include "user/guard/guard_pages.h"

/*
 * Finds what an earlier tool has left, and reads the bytes at the jumps' places
 * (part.place.before). 1: found; it can be used again, and is this tool's (user/gate/owner.h) until
 * pages->file is closed. 0: nothing is there. Or -errno with the reason: -EBUSY: another tool has
 * it, or there are jumps of another kind.
 */
int guard_find(const struct guard_request *request, struct guard_part *parts,
	       struct guard_pages *pages, char reason[static REASON_MAX]);

/* Does a gate stand before some of the jumps, and go on to them? */
bool guard_find_covered(const struct guard_pages *pages, const struct guard_part *parts,
			size_t count);

#endif
