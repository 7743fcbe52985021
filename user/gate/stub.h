/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate's code and data as they are to be written into a target: user/gate/stub_layout.h has the
 * layout, stub/ the code.
 */
#ifndef MEMLEAKBPF_GATE_STUB_H
#define MEMLEAKBPF_GATE_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/gate/displace.h"
#include "user/gate/stub_layout.h"

/* The code before anything has been filled in; *size 0: there is none for this machine. */
const uint8_t *gate_code(size_t *size);

/* The stubs in it. Each serves one function. */
const struct gate_stub *gate_stubs(size_t *count);

/* A function that gets a stub. */
struct gate_function {
	struct displace_request request;
	struct displaced plan;
	/* Where the jump of guards goes that stands in the function already (below.h); 0: none does. */
	uint64_t onward;
	/*
	 * It may call another function that has a stub: struct alloc_fn's rows that are no leaves, and
	 * what leads_calls() says of the allocating ones. Costs it 2 ns a call; left out by mistake, bytes are counted
	 * twice and blocks may be told that nobody ever frees.
	 */
	bool calls_others;
	/*
	 * For GATE_KIND_NEW, _NEW_ALIGNED, and only these: the stub of the same object's malloc, or of
	 * its memalign or aligned_alloc (GATE_KIND_SIZE_2), which is called instead where the call is
	 * made from the stub. operator delete must take what that gives. It does where malloc and
	 * operator new are of one object and so of one heap, and a block says nothing of who made it:
	 * jemalloc, tcmalloc, mimalloc. Where it does, that is the end of the program:
	 * gate_pairs_checked() must have said 0.
	 */
	const struct gate_stub *instead;
};

/*
 * Fills in a stub: code[] is a copy of gate_code(), to be at `address`. 0; -ERANGE: that is too far
 * from the function; -EINVAL: `instead` is missing, or one too many.
 */
int gate_fill_stub(uint8_t *code, uint64_t address, const struct gate_stub *stub,
		   const struct gate_function *function);

/*
 * Writes lea undo(%rsp), %rsp; jmp to: what a function's first instruction has taken from the stack is
 * given back, GATE_UNDO bytes at `at` of code that is to be at `address`. 0, or -ERANGE.
 */
int gate_write_undo(uint8_t *code, uint64_t address, uint32_t at, uint32_t undo, uint32_t to);

/* The jump into the function is to go there, with the code at `address`. The same code serves both. */
static inline uint64_t gate_jump_target(uint64_t address, const struct gate_stub *stub, bool exact)
{
	return address + (exact ? stub->exact_undo : stub->undo);
}

/*
 * A header for samples that are `mean` bytes apart in the mean, exponentially distributed; 0: none.
 * No mean is larger than 2^33.
 */
void gate_header_init(struct gate_header *header, uint64_t mean);

#endif
