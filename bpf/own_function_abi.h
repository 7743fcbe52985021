/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that the user has named: what the programs count of each. */
#ifndef MEMLEAKBPF_BPF_OWN_FUNCTION_ABI_H
#define MEMLEAKBPF_BPF_OWN_FUNCTION_ABI_H

#include "bpf/types.h"

/* Functions with a row, a power of two. A further one is traced as well, but nobody can say that it always fails. */
#define OWN_FUNCTIONS_MAX 64

struct own_function {
	/* OP_ALLOC_OUT: the result that means success, set before the first probe; else unused */
	int64_t ok;
	uint64_t calls;	 /* that have returned, of all targets */
	uint64_t failed; /* of them: gave no block */
	int64_t result;	 /* of the last one that failed */
};
_Static_assert(sizeof(struct own_function) == 32, "ABI");

#endif
