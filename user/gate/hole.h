/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where in a process there is room for the gate's pages. */
#ifndef MEMLEAKBPF_GATE_HOLE_H
#define MEMLEAKBPF_GATE_HOLE_H

#include <stdint.h>

#include "user/process/maps.h"

/*
 * The address, a multiple of 4096, of `size` bytes that nothing is mapped at, with a page free on
 * either side, as near as can be to [from, to) and so that a jump of 2 GiB goes from any byte of the
 * one to any byte of the other. Not where the heap or the main thread's stack grows first. 0: there
 * is none.
 */
uint64_t gate_hole_find(const struct maps *maps, uint64_t from, uint64_t to, uint64_t size);

#endif
