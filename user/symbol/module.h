/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that libdwfl knows: each is reported at a base of its own, in one session. Addresses
 * are link-time virtual addresses of the object throughout. A few that nobody maps any more are
 * kept, those used last.
 */
#ifndef MEMLEAKBPF_SYMBOL_MODULE_H
#define MEMLEAKBPF_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/symbol/debug_places.h"
#include "user/symbol/inlines.h"
#include "user/symbol/type_table.h"
#include "user/process/object.h"

struct module_set;
struct module;

struct module_set *module_set_new(bool debuginfod); /* NULL, logged, when libdwfl will not start */
void module_set_free(struct module_set *set);

/*
 * The module of an object, reported on first use, which takes a reference to the object; owned by
 * the set, and valid until the next call. NULL when out of memory. `root_fd` is the root directory
 * of a process that maps it (-1: none), used for lookups of debug files until the next call;
 * borrowed.
 */
struct module *module_set_get(struct module_set *set, struct object *object, int root_fd);

/*
 * The name of the ELF symbol that covers the address, and its start. NULL when none does. The raw
 * name, mangled but without a symbol version; `*len` bytes, not ended by NUL; lives as long as the
 * module.
 */
const char *module_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start);

/* The same of the variable that covers the address. */
const char *module_data_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start);

/* And of the thread-local one that covers an offset into the object's block. */
const char *module_tls_symbol(struct module *module, uint64_t offset, size_t *len, uint64_t *start);

/* Whether a Go program's own table of functions has the address: it is Go's code, not C's in that file. */
bool module_is_go(struct module *module, uint64_t vaddr);

/*
 * What DWARF says of the address, that of separate debug files included: as debuginfo_find()
 * (user/symbol/inlines.h).
 */
void module_lines(struct module *module, uint64_t vaddr, struct source_stack *out);

/*
 * Types and variables, from the same (user/symbol/debug_types.h): *out is NULL where there is no debug
 * information, or it is not read by the deadline (monotonic_ns()); it is not asked for again then, and lines
 * are. Else type_table_free() frees it. 0 or -ENOMEM.
 */
int module_types(struct module *module, uint64_t deadline_ns, struct type_table **out);

/* As debug_places_find(); none where there is no debug information, or it cannot be read. */
void module_places(struct module *module, const struct debug_place_query *query,
		   struct debug_places *out);

/* Each function that has a symbol: elf_symbols_each(), with link-time addresses. */
int module_each_function(struct module *module,
			 int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
				   uint64_t end),
			 void *ctx);

#endif
