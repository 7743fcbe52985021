/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of a Go program, from section .gopclntab. Go's own runtime walks stacks by this
 * table; strip(1) and the linker's -s -w leave it. Layout: Go 1.16 to 1.26, src/runtime/symtab.go
 * (pcHeader, functab, _func, pcvalue()) and src/cmd/link/internal/ld/pcln.go;
 * src/debug/gosym/pclntab.go reads it, too. Older ones (magic 0xfffffffb) are not read.
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

/* Addresses as at link time. The name belongs to the table. */
struct go_function {
	uint64_t start, end;
	const char *name;
	uint8_t flags;
	bool flags_known; /* from Go 1.18 on; before, no flag means nothing */
	uint32_t sp_values, file_values, line_values; /* for go_values_of(); 0: it has none */
	uint32_t unit;				      /* where its files begin */
};

/*
 * Reads the table's header. Everything in it is untrusted: each access is checked, and stays in the
 * file. The section's bytes are libelf's, so free the table before `elf`. `fd` is elf's file. 0 and
 * *out; -ENOENT: no Go program, or of an unknown version; -ENOMEM.
 */
int go_functions_read(Elf *elf, int fd, struct go_functions **out);
void go_functions_free(struct go_functions *go); /* NULL is fine */

size_t go_functions_count(const struct go_functions *go);

/* Where Go's text begins, as at link time; 0 before Go 1.18, whose table does not need it. */
uint64_t go_functions_text(const struct go_functions *go);

/*
 * The table's size in bytes. Functions may share parts of it, so whoever goes through all of them
 * has to bound the work.
 */
uint64_t go_functions_bytes(const struct go_functions *go);

/* The function of that number, in the order of addresses. False where the table is damaged. */
bool go_functions_at(const struct go_functions *go, size_t number, struct go_function *out);

/* The function that has the address. */
bool go_functions_find(const struct go_functions *go, uint64_t vaddr, struct go_function *out);

/*
 * Finds the line of the address and its file's name (the table's). False: not known. An inlined
 * call has its caller's line.
 */
bool go_functions_line(const struct go_functions *go, const struct go_function *function,
		       uint64_t vaddr, const char **file, uint32_t *line);

/* A table of values over a function's code: they hold from `pc` to `end`. */
struct go_values {
	const struct go_functions *go;
	uint64_t at, pc, end;
	int64_t value;
	bool first;
};

/*
 * `values`: one of the function's three numbers. sp: how much lower it is than at the function's
 * first instruction; file; line.
 */
struct go_values go_values_of(const struct go_functions *go, const struct go_function *function,
			      uint32_t values);

/* The next range; false: there is none. */
bool go_values_next(struct go_values *values);

#endif
