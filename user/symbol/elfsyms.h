/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Symbols of one libdwfl module, from .symtab, .dynsym and .gnu_debugdata, ordered for lookups by
 * address.
 */
#ifndef MEMLEAKBPF_SYMBOL_ELFSYMS_H
#define MEMLEAKBPF_SYMBOL_ELFSYMS_H

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

struct elf_symbols;

enum elf_symbol_kind {
	ELF_FUNCTIONS,
	ELF_VARIABLES,
	ELF_THREAD_VARIABLES, /* by their offset into the object's block */
};

/*
 * Reads all symbols of a kind. NULL when there are none, or out of memory. Valid as long as the
 * module's session.
 */
struct elf_symbols *elf_symbols_new(Dwfl_Module *module, enum elf_symbol_kind kind);
void elf_symbols_free(struct elf_symbols *symbols); /* NULL is fine */

/*
 * Finds the symbol that covers a (biased) address, or a thread-local one's offset. Returns its name
 * without the symbol version, `*len` bytes and not ended there; NULL when none.
 */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, size_t *len,
			     uint64_t *start);

/*
 * Calls fn for all symbols that are functions by their type, in no order; names as above. A result
 * of `fn` other than 0 stops it and is returned.
 */
int elf_symbols_each(const struct elf_symbols *symbols,
		     int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
			       uint64_t end),
		     void *ctx);

#endif
