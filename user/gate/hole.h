/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds room for the gate's pages in a process. */
#ifndef MEMLEAKBPF_GATE_HOLE_H
#define MEMLEAKBPF_GATE_HOLE_H

#include <stdint.h>

#include "user/process/maps.h"

/*
 * Returns the address, a multiple of 4096, of `size` bytes where nothing is mapped, with a page
 * free on either side. A jump of 2 GiB goes from any byte there to any byte of [from, to), to which
 * it is as near as can be. Avoids places into which the heap or the main thread's stack grows
 * first. 0: there is none.
 */
uint64_t gate_hole_find(const struct maps *maps, uint64_t from, uint64_t to, uint64_t size);

#endif
