/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Guards that have been touched without an event for the tool. */
#ifndef MEMLEAKBPF_GUARD_GUARD_LEFT_H
#define MEMLEAKBPF_GUARD_GUARD_LEFT_H

#include "user/guard/guard_pages.h"

/*
 * Marks the places with pages that should not exist: the stub drops them before the place's next
 * block, or gives it none. Call it when the events of the process's faults are there, so that none
 * comes in between. 0 or -errno, not logged.
 */
int guard_left_mark(const struct guard_pages *pages);

#endif
