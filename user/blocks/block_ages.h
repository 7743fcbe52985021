/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How old the live blocks of one stack are: for somebody who looks at it, not for reports. */
#ifndef MEMLEAKBPF_BLOCKS_BLOCK_AGES_H
#define MEMLEAKBPF_BLOCKS_BLOCK_AGES_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"

struct blocks;
struct slots;

#define STACK_AGES 8

/* Blocks by age, the youngest first. Under sampling estimates, as the stack's own numbers. */
struct stack_ages {
	struct amount amounts[STACK_AGES];
};

/* Where an age's class ends, in ns; 0: the last one has no end. */
uint64_t stack_age_end_ns(size_t class);

/* The stack of which the ages are asked for. */
struct block_ages_of {
	uint32_t target_id;
	uint32_t stack; /* its index in a snapshot */
	/* for each of `slots` slots the index of its stack in that snapshot */
	const uint32_t *by_slot;
	uint32_t slots;
};

/*
 * Copies all live blocks out of the kernel, which takes some 100 ns for each, of our time. 0, or
 * -errno, not logged: then nothing is known.
 */
int block_ages_read(struct blocks *blocks, const struct slots *slots,
		    const struct block_ages_of *of, struct stack_ages *out);

#endif
