/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of a Go program, from the table that its own runtime walks stacks by and that strip(1) and the linker's
 * -s -w leave: section .gopclntab. Layout: src/runtime/symtab.go (pcHeader, functab, _func, pcvalue()) and
 * src/cmd/link/internal/ld/pcln.go of Go 1.16 to 1.26; src/debug/gosym/pclntab.go reads it, too. Older ones (magic
 * 0xfffffffb) are not read.
 */
#ifndef MEMLEAKBPF_PROCESS_GO_FUNCTIONS_H
#define MEMLEAKBPF_PROCESS_GO_FUNCTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_functions;

/* _func.flag, from Go 1.17 on. */
#define GO_FUNCTION_TOP	      (1u << 0) /* a stack's first function: nobody called it */
#define GO_FUNCTION_WRITES_SP (1u << 1) /* by more than adding and subtracting */

/* Addresses as at link time. The name is the table's, for as long as that is there. */
struct go_function {
	uint64_t start, end;
	const char *name;
	uint8_t flags;
	bool flags_known; /* from Go 1.18 on: what has no flag is none */
	uint32_t sp_values, file_values, line_values; /* for go_values_of(); 0: it has none */
	uint32_t unit;				      /* where its files begin */
};

/*
 * Reads the table's header. Everything in it is untrusted; each access is checked, and no more than the file has is
 * looked at. The section's bytes are libelf's, so the table ends before `elf` does. `fd` is elf's file. 0 and *out; -ENOENT: this is no Go
 * program, or of a version that is not known; -ENOMEM.
 */
int go_functions_read(Elf *elf, int fd, struct go_functions **out);
void go_functions_free(struct go_functions *go); /* NULL is fine */

size_t go_functions_count(const struct go_functions *go);

/* How large the table is: functions may share parts of it, so whoever goes through all bounds what that takes. */
uint64_t go_functions_bytes(const struct go_functions *go);

/* The function of that number, in the order of addresses. False where the table is damaged. */
bool go_functions_at(const struct go_functions *go, size_t number, struct go_function *out);

/* The function that has the address. */
bool go_functions_find(const struct go_functions *go, uint64_t vaddr, struct go_function *out);

/* The line of the address, and the file's name (the table's); false: not known. Inlined calls count as their caller's line. */
bool go_functions_line(const struct go_functions *go, const struct go_function *function,
		       uint64_t vaddr, const char **file, uint32_t *line);

/* A table of values over a function's code: they hold from `pc` to `end`. */
struct go_values {
	const struct go_functions *go;
	uint64_t at, pc, end;
	int64_t value;
	bool first;
};

/* `values`: one of the function's three. How much lower sp is than at the function's first instruction; file; line. */
struct go_values go_values_of(const struct go_functions *go, const struct go_function *function,
			      uint32_t values);

/* The next range; false: there is none. */
bool go_values_next(struct go_values *values);

#endif
