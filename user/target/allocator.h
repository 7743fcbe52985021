/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocator table: which functions allocate and free, and which argument is what. It is data: a
 * new function is a new row. Arguments are numbered from 1; 0 means there is none.
 */
#ifndef MEMLEAKBPF_TARGET_ALLOCATOR_H
#define MEMLEAKBPF_TARGET_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/alloc_op.h"
#include "bpf/alloc_family.h"

/* Functions with a row, as OWN_FUNCTIONS_MAX of bpf/own_function_abi.h. */
#define ALLOC_OWN_MAX 64

struct alloc_fn {
	/* the C name, which frame 0 carries: "malloc"; for C++ the mangled name */
	const char *name;
	const char *shown; /* what people read: "malloc", "operator new(unsigned long)" */
	enum alloc_op op;
	uint8_t size_arg;  /* bytes, or element size when count_arg is set */
	uint8_t count_arg; /* the size is multiplied by it */
	/* a user's own function: 1 + its row of `own_functions` (bpf/own_function_abi.h); 0: none */
	uint8_t own;
	/* the block freed or resized; for OP_ALLOC_OUT the argument that receives the pointer */
	uint8_t ptr_arg;
	int32_t ok;  /* OP_ALLOC_OUT: the result that means success */
	bool cxx;    /* operator new/delete: probed only in objects that also export malloc */
	bool mmap;   /* only with --mmap */
	bool throws; /* an exception can leave it: its return address must stay as it is */
	/* calls no other function of the table but mmap: unrecorded calls need no return */
	bool leaf;
};

/* The built-in table; *count rows, immutable. */
const struct alloc_fn *alloc_table(size_t *count);

/* Which functions belong to it; FAMILY_ANY for those that a user has named, and mmap's. */
enum alloc_family alloc_fn_family(const struct alloc_fn *fn);

/*
 * Parse the values of three options. -EINVAL (not logged) when one does not parse.
 *
 * - --alloc-fn: "NAME:SIZEARG[:COUNTARG][:out=N[:ok=RESULT]]"
 * - --realloc-fn: "NAME:PTRARG:SIZEARG[:COUNTARG]"
 * - --free-fn: "NAME:PTRARG"
 *
 * Argument numbers are 1 to 6. `out` is the argument through which the function stores the block.
 * `ok` is the result of a call that has stored one, 0 if it is left out. The name is copied into
 * storage that fn->name owns (free it with alloc_fn_release()).
 */
int alloc_fn_parse_alloc(const char *text, struct alloc_fn *fn);
int alloc_fn_parse_realloc(const char *text, struct alloc_fn *fn);
int alloc_fn_parse_free(const char *text, struct alloc_fn *fn);
void alloc_fn_release(struct alloc_fn *fn);

#endif
