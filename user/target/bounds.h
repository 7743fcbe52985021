/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the functions of an object begin, symbols or not: from the search table that it carries for
 * exceptions (.eh_frame_hdr).
 */
#ifndef MEMLEAKBPF_TARGET_BOUNDS_H
#define MEMLEAKBPF_TARGET_BOUNDS_H

#include <libelf.h>
#include <stdint.h>

struct bounds;

/*
 * Reads the table of the file behind fd (which elf is of). NULL when it has none that is
 * understood, or out of memory.
 */
struct bounds *bounds_new(Elf *elf, int fd);
void bounds_free(struct bounds *bounds); /* NULL is fine */

/*
 * The link-time address of the first function that begins behind vaddr; UINT64_MAX: none, or bounds
 * is NULL.
 */
uint64_t bounds_next(const struct bounds *bounds, uint64_t vaddr);

/*
 * The link-time address of the description (.eh_frame's FDE) of what begins at vaddr; 0: nothing does, or bounds is
 * NULL.
 */
uint64_t bounds_description(const struct bounds *bounds, uint64_t vaddr);

#endif
