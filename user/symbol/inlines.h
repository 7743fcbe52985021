/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source lines and inlined calls at an address, by DWARF (DWARF 5, sections 2.17, 3.3.8 and 6.2).
 */
#ifndef MEMLEAKBPF_SYMBOL_INLINES_H
#define MEMLEAKBPF_SYMBOL_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#define INLINE_DEPTH_MAX 64 /* inlined calls at one address, the innermost ones kept */

struct source_frame {
	/* demangled or qualified by its scopes; owned by the frame; NULL: unknown */
	char *function;
	/*
	 * may be relative to the directory; both live as long as the Dwarf, or the stack; NULL:
	 * unknown
	 */
	const char *file;
	const char *directory; /* where the unit was compiled */
	uint32_t line;	       /* 0: unknown */
};

struct source_stack {
	/* innermost first; the last one is the real function */
	struct source_frame frames[INLINE_DEPTH_MAX + 1];
	size_t count; /* 0: nothing known */
	/* lowest address of the real function, link-time; valid when its name is known */
	uint64_t entry;
	bool owned; /* files and directories are the stack's own, too */
};

struct debuginfo;

/*
 * Makes ready for lookups in `dwarf`, which is borrowed. `bias` is added to an object's link-time
 * address to have the DWARF's own; only prelinked files have one other than 0. NULL when out of
 * memory or when there is no code in it.
 */
struct debuginfo *debuginfo_new(Dwarf *dwarf, uint64_t bias);
void debuginfo_free(struct debuginfo *info); /* NULL is fine */

/*
 * Fills *out for the instruction that holds the address; unknown members stay empty. Release it
 * with source_stack_release().
 */
void debuginfo_find(struct debuginfo *info, uint64_t vaddr, struct source_stack *out);
void source_stack_release(struct source_stack *stack);

#endif
