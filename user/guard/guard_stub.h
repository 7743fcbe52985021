/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes guard sampling's code and data for a target: guard_layout.h has the layout, stub/ the code;
 * docs/guard.md says what it does.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_STUB_H
#define MEMLEAKBPF_GUARD_GUARD_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/gate/displace.h"
#include "user/guard/guard_layout.h"

/* The code before anything is filled in; *size 0: there is none for this machine. */
const uint8_t *guard_code(size_t *size);

/* The stubs in the code. Each serves one function. */
const struct guard_stub *guard_stubs(size_t *count);

/* The places where the code tells events, for all stubs: offsets in it, as in struct guard_stub. */
#define GUARD_PROBES 3
struct guard_told {
	uint32_t probes[GUARD_PROBES]; /* by enum guard_event */
	uint32_t given;
};
struct guard_told guard_told(void);

/* May a pool have so many blocks at a time? A power of two, from 8 to GUARD_COUNT_MAX. */
bool guard_count_fits(uint32_t count);

/* The pool's size in bytes of addresses; its address must be a multiple of that. */
static inline uint64_t guard_pool_size(uint32_t count)
{
	return (uint64_t)count << GUARD_PLACE_BITS;
}

/* A function that gets a stub. */
struct guard_function {
	struct displace_request request;
	struct displaced plan;
	/*
	 * Only for GUARD_KIND_REALLOC and its like: the stub of the same object's malloc, or of
	 * mallocx.
	 */
	const struct guard_stub *instead;
};

/*
 * Fills in a stub: code[] is a copy of guard_code(), to be at `address`; the pool of `count` blocks
 * is to be at `pool`. Either all functions of an allocator that take a block have a stub, or none
 * may. 0. -ERANGE: that is too far from the function, or the pool lies too high. -EINVAL: `instead`
 * is missing, or there without need, or there can be no such pool.
 */
int guard_fill_stub(uint8_t *code, uint64_t address, const struct guard_stub *stub,
		    const struct guard_function *function, uint64_t pool, uint32_t count);

/* The target of the jump into the stub, with the code at `address`. */
static inline uint64_t guard_jump_target(uint64_t address, const struct guard_stub *stub)
{
	return address + stub->undo;
}

/*
 * Makes a header that guards one call in `period`, in the mean; 0: none. `at_left` of 256 blocks
 * lie at their page's beginning; `by_fault`: faults tell of new ones. Either way ends of blocks are
 * told.
 */
void guard_header_init(struct guard_header *header, uint64_t period, unsigned at_left,
		       bool by_fault);

/* Makes an empty pool. */
void guard_pool_init(struct guard_pool *pool, uint64_t base, uint64_t save, uint32_t count,
		     bool keep_pages);

#endif
