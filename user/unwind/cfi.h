/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the call frame information of one section (.eh_frame or .debug_frame). Reduces it to what
 * finding callers needs: canonical frame address, frame pointer and return address, as struct
 * unwind_rule. Format: DWARF 5 section 6.4, LSB 5 section 10.6 (.eh_frame), System V ABI
 * supplements of x86-64 and AArch64.
 */
#ifndef MEMLEAKBPF_UNWIND_CFI_H
#define MEMLEAKBPF_UNWIND_CFI_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_abi.h"

/* A rule holds from this address to the next row's. */
struct cfi_row {
	uint64_t vaddr;
	uint32_t rule; /* number in the rule set */
};

/*
 * The rows of one function: rows[first .. first + count), in address order, the first at `start`.
 */
struct cfi_function {
	uint64_t start, end;
	size_t first, count;
	uint32_t rank; /* where functions overlap, the lower rank wins */
};

struct cfi_rules; /* distinct rules, numbered from 0; the first are UNWIND_RULE_* */

struct cfi_rules *cfi_rules_new(void); /* NULL when out of memory */
void cfi_rules_free(struct cfi_rules *rules);
/*
 * Returns the rule's number, UNWIND_RULE_UNSUPPORTED when there are UNWIND_MAX_RULES already, or
 * -ENOMEM.
 */
int cfi_rules_add(struct cfi_rules *rules, const struct unwind_rule *rule);
size_t cfi_rules_count(const struct cfi_rules *rules);
const struct unwind_rule *cfi_rules_at(const struct cfi_rules *rules, size_t index);

/* The rows read so far, in the order of the sections. Starts as all zeros; owns its arrays. */
struct cfi {
	struct cfi_row *rows;
	size_t row_count, row_room;
	struct cfi_function *functions;
	size_t function_count, function_room;
	struct cfi_rules *rules; /* borrowed */
	uint16_t machine;	 /* EM_X86_64 or EM_AARCH64 */
};

void cfi_clear(struct cfi *cfi);

/* One section's bytes, and where it is loaded; pc-relative pointers count from `vaddr`. */
struct cfi_section {
	Elf_Data *data;
	uint64_t vaddr;
	bool eh_frame; /* else .debug_frame */
	uint32_t rank;
};

/*
 * Appends the functions of a section. Skips damaged entries. The section may be hostile: its size
 * bounds time and memory. 0 or -ENOMEM.
 */
int cfi_read(struct cfi *cfi, const unsigned char *e_ident, const struct cfi_section *section);

/*
 * Appends a row, and then the function that owns the rows, as struct cfi_function says. 0 or
 * -ENOMEM.
 */
int cfi_add_row(struct cfi *cfi, uint64_t vaddr, uint32_t rule);
int cfi_add_function(struct cfi *cfi, const struct cfi_function *function);

/* Appends a function of one row. 0 or -ENOMEM. */
int cfi_add(struct cfi *cfi, uint64_t start, uint64_t end, uint32_t rule, uint32_t rank);

#endif
