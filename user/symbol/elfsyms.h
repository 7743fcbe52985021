/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Function symbols of one libdwfl module, from .symtab, .dynsym and .gnu_debugdata, ordered for
 * lookups by address.
 */
#ifndef MEMLEAKBPF_SYMBOL_ELFSYMS_H
#define MEMLEAKBPF_SYMBOL_ELFSYMS_H

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

struct elf_symbols;

/*
 * Reads all function symbols. NULL when there are none, or out of memory. Valid while the module's
 * session is.
 */
struct elf_symbols *elf_symbols_new(Dwfl_Module *module);
void elf_symbols_free(struct elf_symbols *symbols); /* NULL is fine */

/*
 * The symbol that covers a (biased) address: its name without the symbol version, `*len` bytes and
 * not ended there; NULL when none.
 */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, size_t *len,
			     uint64_t *start);

/*
 * The variable that covers a (biased) address, or with `type` STT_TLS the thread-local one that
 * covers an offset into its object's block; else STT_OBJECT. As elf_symbols_find(). Goes through
 * the symbol tables each time: they are asked for few addresses.
 */
const char *elf_data_symbol(Dwfl_Module *module, int type, uint64_t address, size_t *len,
			    uint64_t *start);

#endif
