/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Figures of stacks and targets that the programs of figures.bpf.c keep on request: rows of arrays
 * that user space maps.
 */
#ifndef MEMLEAKBPF_BPF_FIGURES_ABI_H
#define MEMLEAKBPF_BPF_FIGURES_ABI_H

#include "bpf/types.h"

/*
 * How long freed blocks had lived: [0] less than 2 us, [i] 2^i to 2^(i+1) us, the last one longer.
 * In the units of the counters: under sampling with 16 fractional bits. A slot has config.lifetimes
 * rows, a power of two. A processor counts in one of them: slot * rows + processor modulo rows.
 */
#define LIFETIME_BUCKETS  24
#define LIFETIME_ROWS_MAX 4
struct slot_lifetimes {
	uint64_t freed[LIFETIME_BUCKETS];
};
_Static_assert(sizeof(struct slot_lifetimes) == 192, "whole cache lines");

/*
 * Found by the walk over live blocks: blocks older than far_ns, in the units of the counters. User
 * space sets far_ns before (0: no block is older).
 */
struct slot_outlived {
	uint64_t far_ns;
	uint64_t bytes, count;
	uint64_t pad;
};
_Static_assert(sizeof(struct slot_outlived) == 32, "ABI");

/*
 * For lifetimes a block's birth is known to 1.024 us: live_value.time has it in 1.05 ms, and these
 * bits of live_value.slot the rest. There are fewer slots then.
 */
#define LIVE_SLOT_BITS	22
#define LIVE_SLOT_MASK	((1u << LIVE_SLOT_BITS) - 1)
#define LIVE_TIME_SHIFT 20 /* of nanoseconds */
#define LIVE_FINE_BITS	(32 - LIVE_SLOT_BITS)
#define LIVE_FINE_SHIFT (LIVE_TIME_SHIFT - LIVE_FINE_BITS)

/* Blocks that were freed before their thread allocated another one. */
struct slot_temporary {
	uint64_t bytes, count; /* in the units of the counters */
	int64_t variance;      /* of the bytes, as stack_counters.variance */
	uint64_t pad;
};
_Static_assert(sizeof(struct slot_temporary) == 32, "ABI");

/*
 * Live bytes of a target, in the units of the counters, and the most that it has had. A row for
 * each target, by its id modulo ABI_TARGET_SLOTS, in a cache line of its own.
 */
struct target_peak {
	uint64_t live;
	uint64_t bytes; /* the most */
	uint64_t ticks; /* the kernel's, when that was: struct live_clock */
	/* Set by user space: send EVENT_PEAK when there are more bytes than that, */
	uint64_t tell_at;
	uint64_t tell_after; /* but not before: CLOCK_MONOTONIC */
	uint64_t pad[3];
};
_Static_assert(sizeof(struct target_peak) == 64, "a cache line");

#endif
