/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a process has code that calls its allocator: what may be a return address, for the stubs (docs/guard.md). */
#ifndef MEMLEAKBPF_GUARD_GUARD_TEXTS_H
#define MEMLEAKBPF_GUARD_GUARD_TEXTS_H

#include "user/guard/guard_layout.h"
#include "user/process/maps.h"

/*
 * Of all mappings with code but the kernel's own and those of gates and guards, which stand between a caller
 * and what it calls. Where there are more than have room, near ones are taken together.
 */
void guard_texts_find(const struct maps *maps, struct guard_text texts[GUARD_TEXTS]);

#endif
