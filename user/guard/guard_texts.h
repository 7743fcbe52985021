/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the process's code that calls its allocator: the stubs look for return addresses there
 * (docs/guard.md).
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_TEXTS_H
#define MEMLEAKBPF_GUARD_GUARD_TEXTS_H

#include "user/guard/guard_layout.h"
#include "user/process/maps.h"

/*
 * Takes all mappings with code but the kernel's own and those of gates and guards, which stand
 * between a caller and its callee. Joins near ones if there are too many.
 */
void guard_texts_find(const struct maps *maps, struct guard_text texts[GUARD_TEXTS]);

#endif
