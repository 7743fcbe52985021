/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comparisons without branches, for loops in BPF programs. */
#ifndef MEMLEAKBPF_BPF_UNWIND_COMPUTE_H
#define MEMLEAKBPF_BPF_UNWIND_COMPUTE_H

#include "bpf/unwind_host.h"

/*
 * All ones if the number is negative, else 0. Not by an arithmetic shift: newer verifiers follow
 * both outcomes of that. And so that the compiler makes no branch of it.
 */
static __always_inline uint64_t unwind_sign(uint64_t number)
{
	unwind_opaque(number);
	number >>= 63;
	unwind_opaque(number);
	return 0 - number;
}

/*
 * All ones if a <= b, for numbers below 2^63. The searches compute instead of branching: the
 * verifier follows every path through a loop of branches, and there are 2^steps of them.
 */
static __always_inline uint64_t unwind_not_above(uint64_t a, uint64_t b)
{
	return unwind_sign(a - b - 1);
}

/* All ones if a == b, for numbers below 2^63. */
static __always_inline uint64_t unwind_same(uint64_t a, uint64_t b)
{
	return unwind_sign((a ^ b) - 1);
}

#ifdef UNWIND_AARCH64
#define UNWIND_CALL_BYTES 4
#else
#define UNWIND_CALL_BYTES 8
#endif

/* All ones if the instruction that ends with `code` is a call. Computed, like the searches. */
static __always_inline uint64_t unwind_is_call(uint64_t code)
{
#ifdef UNWIND_AARCH64
	/* bl; blr, and its forms that authenticate the address */
	return unwind_same(code & 0xfc000000, 0x94000000) |
	       unwind_same(code & 0xfefff000, 0xd63f0000);
#else
	uint64_t is;

#define CODE(back) ((code >> (64 - 8 * (back))) & 0xff)
	/* call rel32; then call r/m64 (ff /2), by the length behind its opcode */
	is = unwind_same(CODE(5), 0xe8);
	is |= unwind_same(CODE(2), 0xff) & unwind_same(CODE(1) & 0x38, 0x10);
	is |= unwind_same(CODE(3), 0xff) &
	      (unwind_same(CODE(2), 0x14) | unwind_same(CODE(2) & 0xf8, 0x50));
	is |= unwind_same(CODE(4), 0xff) & unwind_same(CODE(3), 0x54);
	is |= unwind_same(CODE(6), 0xff) &
	      (unwind_same(CODE(5), 0x15) | unwind_same(CODE(5) & 0xf8, 0x90));
	is |= unwind_same(CODE(7), 0xff) &
	      (unwind_same(CODE(6), 0x94) | unwind_same(CODE(6), 0x14));
	return is;
#undef CODE
#endif
}

#endif
