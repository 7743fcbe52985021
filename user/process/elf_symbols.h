/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The symbols that an ELF file defines, one after the other. */
#ifndef MEMLEAKBPF_PROCESS_ELF_SYMBOLS_H
#define MEMLEAKBPF_PROCESS_ELF_SYMBOLS_H

#include <gelf.h>

/*
 * Gets a symbol that the file defines (elf_imports(): one that it has from another), and its name,
 * which is libelf's. 0: go on; anything else ends the walk.
 */
typedef int elf_symbol_fn(void *ctx, const char *name, const GElf_Sym *sym);

/* The same for the names in .dynsym that the file has from others. */
int elf_imports(Elf *elf, elf_symbol_fn *fn, void *ctx);

/*
 * Calls fn for each symbol of the tables of that type (SHT_DYNSYM or SHT_SYMTAB). The file was
 * opened for ELF_FOR_SYMBOLS. Leaves out symbols whose names are not in the file; a table that ends
 * early ends there. Returns what fn ended it with; 0 when all were seen; -ENOENT if there is no
 * such table. -EBADMSG if one cannot be read; elf_errmsg(-1) says why.
 */
int elf_symbols(Elf *elf, unsigned type, elf_symbol_fn *fn, void *ctx);

#endif
