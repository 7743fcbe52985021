/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DWARF is read in a process of its own. It is a program in all but name, written by a stranger,
 * and libdw believes it. A table of abbreviations that a thousand units share becomes a thousand
 * tables; a byte of a line program becomes a hundred of memory. The child has the memory that the
 * file allows (user/process/elf_open.h), no descriptors, no capabilities and next to no system
 * calls (user/kernel/confine.h). When it ends over an address, only lines and inlined calls of one
 * file are lost; over types, only the types of one.
 */
#ifndef MEMLEAKBPF_SYMBOL_DEBUG_CHILD_H
#define MEMLEAKBPF_SYMBOL_DEBUG_CHILD_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/base/reason.h"
#include "user/symbol/debug_places.h"
#include "user/symbol/inlines.h"
#include "user/symbol/type_table.h"

struct debug_child;

/*
 * For `dwarf`, which must outlive it, and whose sections have been read. `bias` as debuginfo_new().
 * `memory`: bytes that reading it may take. Starts no process yet. NULL when out of memory.
 */
struct debug_child *debug_child_new(Dwarf *dwarf, uint64_t bias, uint64_t memory);
void debug_child_free(struct debug_child *child); /* NULL is fine */

/* Has it a process now? */
bool debug_child_runs(const struct debug_child *child);

/*
 * Ends its process; the next question starts it again. An idle process ends by itself after a
 * second.
 */
void debug_child_rest(struct debug_child *child);

/*
 * As debuginfo_find(), in the child: 0. -EPIPE, with the reason: the process ended unexpectedly,
 * took too long or could not be started; asking again would not help.
 */
int debug_child_find(struct debug_child *child, uint64_t vaddr, char reason[static REASON_MAX],
		     struct source_stack *out);

/* As debug_places_find(), in the child: 0, or -EPIPE, with the reason, as above. */
int debug_child_places(struct debug_child *child, const struct debug_place_query *query,
		       char reason[static REASON_MAX], struct debug_places *out);

/*
 * Reads types and variables by debug_types_read() in the child, until the deadline
 * (monotonic_ns()). 0 and *out (type_table_free()); -EPIPE, with the reason, as above; lines may
 * still be had. -ENOMEM, without a reason: there is no room for the answer.
 */
int debug_child_types(struct debug_child *child, uint64_t deadline_ns,
		      char reason[static REASON_MAX], struct type_table **out);

#endif
