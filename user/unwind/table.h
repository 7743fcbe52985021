/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind rows of one ELF file. Each executable segment has a list of (link-time address, rule),
 * without gaps and without equal neighbours.
 */
#ifndef MEMLEAKBPF_UNWIND_TABLE_H
#define MEMLEAKBPF_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/reason.h"

#include "user/unwind/cfi.h"

struct unwind_table;

struct unwind_segment {
	/* of the executable PT_LOAD, link-time; size: the bytes of it that the file holds */
	uint64_t vaddr, size;
	uint64_t offset;	    /* in the file */
	const struct cfi_row *rows; /* ascending; the first at `vaddr` */
	size_t row_count;
};

/*
 * Reads .eh_frame and, where that says nothing, .debug_frame, from an ELF file of x86-64 or
 * AArch64, whichever machine we run on. debug_fd is a separate debug file for an object without
 * call frame information, or -1. Adds missing rows: the end of the stack at an entry point, and
 * signal trampolines. A file without call frame information makes a table that says "none"
 * everywhere. The descriptors stay the caller's. *out is freed with unwind_table_free(). 0,
 * -ENOMEM, -EIO; -ENOEXEC for no ELF file of these machines; -EFBIG with the reason
 * (user/process/elf_open.h). Not logged, as the caller knows the file's name.
 */
int unwind_table_read(int fd, int debug_fd, char reason[static REASON_MAX],
		      struct unwind_table **out);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */

size_t unwind_table_segments(const struct unwind_table *table);
const struct unwind_segment *unwind_table_segment(const struct unwind_table *table, size_t index);
const struct cfi_rules *unwind_table_rules(const struct unwind_table *table);
uint16_t unwind_table_machine(const struct unwind_table *table); /* EM_* */

/* The rule at an address, UNWIND_RULE_NONE outside of all segments. */
uint32_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr);

#endif
