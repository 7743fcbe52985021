/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate's code and data as they are to be written into a target: user/gate/stub_layout.h has the
 * layout, stub/ the code.
 */
#ifndef MEMLEAKBPF_GATE_STUB_H
#define MEMLEAKBPF_GATE_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "user/gate/displace.h"
#include "user/gate/stub_layout.h"

/* The code before anything has been filled in; *size 0: there is none for this machine. */
const uint8_t *gate_code(size_t *size);

/* The stubs in it. Each serves one function. */
const struct gate_stub *gate_stubs(size_t *count);

/*
 * Fills in a stub for the function of the request: code[] is a copy of gate_code(), to be at
 * `address`. 0, or -ERANGE: that is too far from the function.
 */
int gate_fill_stub(uint8_t *code, uint64_t address, const struct gate_stub *stub,
		   const struct displace_request *request, const struct displaced *plan);

/* The jump into the function is to go there, with the code at `address`. */
static inline uint64_t gate_jump_target(uint64_t address, const struct gate_stub *stub)
{
	return address + stub->undo;
}

/*
 * A header for samples that are `mean` bytes apart in the mean, exponentially distributed; 0: none.
 * No mean is larger than 2^33.
 */
void gate_header_init(struct gate_header *header, uint64_t mean);

#endif
