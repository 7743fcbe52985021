/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_SYMBOL_DIENAME_H
#define MEMLEAKBPF_SYMBOL_DIENAME_H

#include <elfutils/libdw.h>

/*
 * The name of a function or inlined call for people: its linkage name demangled, else its name with
 * all scopes in front ("ns::Class::method"). Follows abstract origins and specifications, into
 * dwz's shared file too. Malloc'ed; NULL when it has no name, or out of memory.
 */
char *die_function_name(Dwarf_Die *die);

#endif
