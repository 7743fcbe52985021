/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the gate's code and data for a target. user/gate/stub_layout.h has the layout, stub/ the
 * code.
 */
#ifndef MEMLEAKBPF_GATE_STUB_H
#define MEMLEAKBPF_GATE_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/gate/displace.h"
#include "user/gate/stub_layout.h"

/* The code before anything is filled in; *size 0: there is none for this machine. */
const uint8_t *gate_code(size_t *size);

/* The stubs in the code. Each serves one function. */
const struct gate_stub *gate_stubs(size_t *count);

/* A function that gets a stub. */
struct gate_function {
	struct displace_request request;
	struct displaced plan;
	/*
	 * The target of the guards' jump that stands in the function already (below.h); 0: there is
	 * none.
	 */
	uint64_t onward;
	/*
	 * It may call another function that has a stub: rows of struct alloc_fn that are no leaves,
	 * and allocating functions for which leads_calls() says so. Costs 2 ns a call. Left out by
	 * mistake, bytes are counted twice, and blocks are told that nobody ever frees.
	 */
	bool calls_others;
	/*
	 * Only for GATE_KIND_NEW, _NEW_ALIGNED: the stub of the same object's malloc, or of its
	 * memalign or aligned_alloc (GATE_KIND_SIZE_2). A call made from the stub calls that
	 * function instead, so operator delete must take its blocks. It does if malloc and operator
	 * new are of one object and so of one heap, and blocks do not say who made them. jemalloc,
	 * tcmalloc and mimalloc are such. Where blocks do say so, the program ends:
	 * gate_pairs_checked() must have returned 0.
	 */
	const struct gate_stub *instead;
};

/*
 * Fills in a stub: code[] is a copy of gate_code(), to be at `address`. 0; -ERANGE: that is too far
 * from the function; -EINVAL: `instead` is missing, or there without need.
 */
int gate_fill_stub(uint8_t *code, uint64_t address, const struct gate_stub *stub,
		   const struct gate_function *function);

/*
 * Writes lea undo(%rsp), %rsp; jmp to. This gives back the stack that a function's first
 * instruction has taken. GATE_UNDO bytes at `at`, in code that is to be at `address`. 0, or
 * -ERANGE.
 */
int gate_write_undo(uint8_t *code, uint64_t address, uint32_t at, uint32_t undo, uint32_t to);

/* The target of the jump into the stub, with the code at `address`. The same code serves both. */
static inline uint64_t gate_jump_target(uint64_t address, const struct gate_stub *stub, bool exact)
{
	return address + (exact ? stub->exact_undo : stub->undo);
}

/*
 * Makes a header for samples whose distances have the mean `mean` bytes, exponentially distributed;
 * 0: none. No mean is larger than 2^33.
 */
void gate_header_init(struct gate_header *header, uint64_t mean);

#endif
