/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The computations of bpf/sample.h. bpf/sample.bpf.c has them as functions. The programs for
 * kernels before 5.15, which call no functions, have them inline (bpf/old.bpf.c).
 */
#ifndef MEMLEAKBPF_BPF_SAMPLE_COMPUTE_H
#define MEMLEAKBPF_BPF_SAMPLE_COMPUTE_H

#include "bpf/config.h"
#include "bpf/thread.h"
#include <bpf/bpf_helpers.h>

#ifdef MEMLEAKBPF_OLD_KERNEL
#define SAMPLE_FUNCTION static __always_inline
#define SAMPLE_PART	static __always_inline
#else
#define SAMPLE_FUNCTION __noinline
#define SAMPLE_PART	static __noinline
#endif

/*
 * An exponentially distributed distance in bytes. For a uniform 32-bit number u = m * 2^-k with m
 * in [1/2, 1), -ln u = k ln 2 - ln m. The logarithm of m comes from a table with 8 bits of m and a
 * straight line between them.
 */
SAMPLE_PART uint64_t sample_distance(void)
{
	uint32_t u = bpf_get_prandom_u32(), k = 0, i;
	uint64_t log, part;

	if (!u)
		u = 1;
#define SAMPLE_SHIFT(bits)           \
	if (!(u >> (32 - (bits)))) { \
		u <<= (bits);        \
		k += (bits);         \
	}
	SAMPLE_SHIFT(16)
	SAMPLE_SHIFT(8)
	SAMPLE_SHIFT(4)
	SAMPLE_SHIFT(2)
	SAMPLE_SHIFT(1)
#undef SAMPLE_SHIFT
	i = (u >> 23) & 0xff;
	part = u & 0x7fffff; /* of 2^23, the way from entry i to i + 1 */
	log = sample_tables.neg_log[i] -
	      (((uint64_t)(sample_tables.neg_log[i] - sample_tables.neg_log[i + 1]) * part) >> 23);
	log += (uint64_t)k * 45426; /* ln 2 * 2^16 */
	return ((config.sample_bytes * log) >> 16) + 1;
}

SAMPLE_FUNCTION bool sample_hit(struct thread_state *thread, uint64_t size)
{
	/* Never NULL, but the verifier looks at this function alone. */
	if (!thread)
		return false;
	if (!thread->sample_started) {
		thread->sample_started = 1;
		thread->sample_left = sample_distance();
	}
	if (thread->sample_left > size) {
		thread->sample_left -= size;
		return false;
	}
	/*
	 * The process has no memory: it does not matter how far beyond the point the block reaches.
	 */
	thread->sample_left = sample_distance();
	return true;
}

/*
 * Below x = 1 by the series 1/x + 1/2 + x/12 - x^3/720 (its error is under 4e-5), above by table.
 */
SAMPLE_FUNCTION uint64_t sample_weight_of(uint64_t size, uint64_t level)
{
	uint64_t mean = config.sample_bytes << (level & 0xf), x, at, i, part;

	if (!mean || !size)
		return 0;
	if (size < mean) {
		x = (size << 16) / mean;
		return (mean << 16) / size + SAMPLE_ONE / 2 + x / 12 -
		       ((((x * x) >> 16) * x) >> 16) / 720;
	}
	if (size / mean >= SAMPLE_TABLE_END)
		return SAMPLE_ONE;
	at = (size << 16) / mean - SAMPLE_ONE;
	i = at >> (16 - SAMPLE_TABLE_SHIFT);
	if (i >= SAMPLE_TABLE_SIZE - 1)
		return SAMPLE_ONE;
	part = at & ((1u << (16 - SAMPLE_TABLE_SHIFT)) - 1);
	return sample_tables.weight[i] -
	       (((uint64_t)(sample_tables.weight[i] - sample_tables.weight[i + 1]) * part) >>
		(16 - SAMPLE_TABLE_SHIFT));
}

SAMPLE_FUNCTION uint64_t sample_variance_of(uint64_t size, uint64_t weight, uint64_t level)
{
	uint64_t mean = config.sample_bytes << (level & 0xf), x, xw;

	if (!mean || !size || weight <= SAMPLE_ONE)
		return 0;
	if (size < mean >> 8)
		return (uint64_t)SAMPLE_ONE << (2 * (level & 0xf)); /* 1 - x^2 / 12 */
	x = (size << 16) / mean;
	xw = (x * weight) >> 16;
	return ((xw * ((x * (weight - SAMPLE_ONE)) >> 16)) >> 16) << (2 * (level & 0xf));
}

#endif
