/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Variables and types of C and C++, by DWARF (DWARF 5, sections 4.1, 5.1 to 5.7). To be asked in a
 * process of its own (debug_child.h).
 */
#ifndef MEMLEAKBPF_SYMBOL_DEBUG_TYPES_H
#define MEMLEAKBPF_SYMBOL_DEBUG_TYPES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "user/symbol/type_table.h"

/*
 * Reads all types with a name, and the pointers in variables with an address of their own. Such are
 * global ones, and static ones of files and functions; not those of threads. `bias` as
 * debuginfo_new(). 0 and *out (type_table_free()), or -ENOMEM.
 */
int debug_types_read(Dwarf *dwarf, uint64_t bias, struct type_table **out);

#endif
