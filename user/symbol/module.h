/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that libdwfl knows: each is reported at a base of its own, in one session. Addresses
 * are link-time virtual addresses of the object throughout. Some objects that nobody maps any more
 * are kept, those used last.
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
 * The module of an object, reported on first use, when it takes a reference to the object. The set
 * owns it; it is valid until the next call. NULL when out of memory. `root_fd`, borrowed, is the
 * root directory of a process that maps it (-1: none). Lookups of debug files use it until the next
 * call.
 */
struct module *module_set_get(struct module_set *set, struct object *object, int root_fd);

/*
 * Finds the ELF symbol that covers the address: its name and start. NULL when none does. The name
 * is raw: mangled, without a symbol version, `*len` bytes, not ended by NUL. It lives as long as
 * the module.
 */
const char *module_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start);

/* The same for the variable that covers the address. */
const char *module_data_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start);

/* The same for the thread-local variable that covers an offset into the object's block. */
const char *module_tls_symbol(struct module *module, uint64_t offset, size_t *len, uint64_t *start);

/*
 * Has a Go program's own table of functions the address? Then it is Go's code, not C's in that
 * file.
 */
bool module_is_go(struct module *module, uint64_t vaddr);

/*
 * Asks DWARF about the address, also in separate debug files: as debuginfo_find()
 * (user/symbol/inlines.h).
 */
void module_lines(struct module *module, uint64_t vaddr, struct source_stack *out);

/*
 * Reads types and variables from the same files (user/symbol/debug_types.h). type_table_free()
 * frees *out. *out is NULL without debug information, or if it was not read by the deadline
 * (monotonic_ns()): types are not asked for again then, lines are. 0 or -ENOMEM.
 */
int module_types(struct module *module, uint64_t deadline_ns, struct type_table **out);

/* As debug_places_find(). No places without debug information, or if it cannot be read. */
void module_places(struct module *module, const struct debug_place_query *query,
		   struct debug_places *out);

/* Calls fn for each function that has a symbol: elf_symbols_each(), with link-time addresses. */
int module_each_function(struct module *module,
			 int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
				   uint64_t end),
			 void *ctx);

#endif
