/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling by bytes: sample points fall on the stream of allocated bytes as a Poisson process, one
 * per config.sample_bytes on average, and a block is recorded when a point falls into it: with
 * probability p = 1 - exp(-size / mean), so that each byte is equally likely and large blocks are
 * nearly always there (heapprofd and tcmalloc sample the same way). Each recorded block then stands
 * for 1 / p blocks of its size, which makes the sums unbiased (Horvitz and Thompson, 1952).
 *
 * Each thread counts down the bytes to its next point, so nothing is shared. Numbers with 16
 * fractional bits throughout: BPF has no floating point.
 */
#ifndef MEMLEAKBPF_BPF_SAMPLE_H
#define MEMLEAKBPF_BPF_SAMPLE_H

#include "bpf/config.h"
#include "bpf/thread.h"
#include <bpf/bpf_helpers.h>

/*
 * An exponentially distributed distance in bytes. For a uniform 32-bit number u = m * 2^-k with m
 * in [1/2, 1), -ln u = k ln 2 - ln m; the logarithm of m comes from a table with 8 bits of m and a
 * straight line between them.
 */
static __always_inline uint64_t sample_distance(void)
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

/* Does a sample point fall into the next `size` bytes of this thread? */
static __always_inline bool sample_hit(struct thread_state *thread, uint64_t size)
{
	if (!thread->sample_started) {
		thread->sample_started = 1;
		thread->sample_left = sample_distance();
	}
	if (thread->sample_left > size) {
		thread->sample_left -= size;
		return false;
	}
	/* The process has no memory: how far beyond the point the block reaches does not matter. */
	thread->sample_left = sample_distance();
	return true;
}

/*
 * How many blocks a recorded block of this size stands for: 1 / (1 - exp(-x)) with x = size / mean,
 * times 2^16. Below x = 1 by the series 1/x + 1/2 + x/12 - x^3/720 (its error is under 4e-5), above
 * by table. A block of no bytes is never recorded.
 */
static __always_inline uint64_t sample_weight(uint64_t size)
{
	uint64_t mean = config.sample_bytes, x, at, i, part;

	if (!mean)
		return SAMPLE_ONE;
	if (!size)
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

/*
 * What a recorded block adds to the variance of the sum of bytes, size^2 (1 - p) / p^2, in units of
 * mean^2 / 2^16: x^2 w (w - 1), at most 1.
 */
static __always_inline uint64_t sample_variance(uint64_t size, uint64_t weight)
{
	uint64_t mean = config.sample_bytes, x, xw;

	if (!mean || !size || weight <= SAMPLE_ONE)
		return 0;
	if (size < mean >> 8)
		return SAMPLE_ONE; /* 1 - x^2 / 12 */
	x = (size << 16) / mean;
	xw = (x * weight) >> 16;
	return (xw * ((x * (weight - SAMPLE_ONE)) >> 16)) >> 16;
}

#endif
