/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling by bytes. Sample points fall on the stream of allocated bytes as a Poisson process, one
 * per config.sample_bytes on average. A block is recorded when a point falls into it: with
 * probability p = 1 - exp(-size / mean). So each byte is equally likely, and large blocks are
 * nearly always there (heapprofd and tcmalloc sample the same way). Each recorded block then stands
 * for 1 / p blocks of its size, which makes the sums unbiased (Horvitz and Thompson, 1952).
 *
 * Each thread counts down the bytes to its next point, so nothing is shared. Numbers have 16
 * fractional bits throughout: BPF has no floating point.
 */
#ifndef MEMLEAKBPF_BPF_SAMPLE_H
#define MEMLEAKBPF_BPF_SAMPLE_H

#include "bpf/config.h"
#include "bpf/thread.h"
#include <bpf/bpf_helpers.h>

/*
 * Functions that the verifier looks at once (bpf/sample.bpf.c). Inlined, their paths would multiply
 * with those of each caller, and loading took twice as long.
 */
#ifdef MEMLEAKBPF_OLD_KERNEL
#include "bpf/sample_compute.h"
#else
/* Does a sample point fall into the next `size` bytes of this thread? */
bool sample_hit(struct thread_state *thread, uint64_t size);

/* With config.sample_bytes: what sample_weight() and sample_variance() say. */
uint64_t sample_weight_of(uint64_t size, uint64_t level);
uint64_t sample_variance_of(uint64_t size, uint64_t weight, uint64_t level);
#endif

/*
 * How many blocks a recorded block of this size stands for: 1 / (1 - exp(-x)) with x = size / mean,
 * times 2^16. A block of no bytes is never recorded.
 */
static __always_inline uint64_t sample_weight(uint64_t size)
{
	return config.sample_bytes ? sample_weight_of(size, 0) : SAMPLE_ONE;
}

/* The same with 2^level times the mean, LIVE_LEVEL_MAX at most. */
static __always_inline uint64_t sample_weight_at(uint64_t size, uint64_t level)
{
	return config.sample_bytes ? sample_weight_of(size, level) : SAMPLE_ONE;
}

/*
 * A recorded block's part of the variance of the sum of bytes, size^2 (1 - p) / p^2. In units of
 * mean^2 / 2^16 that is x^2 w (w - 1), at most 1.
 */
static __always_inline uint64_t sample_variance(uint64_t size, uint64_t weight)
{
	return config.sample_bytes ? sample_variance_of(size, weight, 0) : 0;
}

/* The same for a weight by sample_weight_at(), in the same units: at most 4^level. */
static __always_inline uint64_t sample_variance_at(uint64_t size, uint64_t weight, uint64_t level)
{
	return config.sample_bytes ? sample_variance_of(size, weight, level) : 0;
}

#endif
