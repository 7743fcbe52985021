/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the kernel's functions by address (/proc/kallsyms). */
#ifndef MEMLEAKBPF_SYMBOL_KALLSYMS_H
#define MEMLEAKBPF_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kallsyms;

/*
 * Reads the file whole: a tenth of a second, some 8 MiB. NULL when out of memory. Without the right
 * to see addresses (CAP_SYSLOG, sysctl kernel.kptr_restrict) it holds nothing.
 */
struct kallsyms *kallsyms_read(FILE *file);
void kallsyms_free(struct kallsyms *symbols); /* NULL is fine */

/* Are there any? */
bool kallsyms_known(const struct kallsyms *symbols);

struct kallsyms_symbol {
	const char *name;   /* valid until kallsyms_free() */
	const char *module; /* NULL: the kernel itself */
	uint64_t offset;    /* of the address, from the function's beginning */
};

/* false: no function begins before the address. */
bool kallsyms_find(const struct kallsyms *symbols, uint64_t address, struct kallsyms_symbol *out);

#endif
