/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How old the live blocks of one stack are: read for those who look at one, not for reports. */
#ifndef MEMLEAKBPF_TRACE_AGES_H
#define MEMLEAKBPF_TRACE_AGES_H

#include "user/trace/trace.h"

struct stack;

#define STACK_AGES 8

/* Blocks by age, the youngest first. Under sampling estimates, as the stack's own numbers. */
struct stack_ages {
	struct amount amounts[STACK_AGES];
};

/* Where an age's class ends, in ns; 0: the last one has no end. */
uint64_t stack_age_end_ns(size_t class);

/*
 * Reads all live blocks, some 100 ns each, on our time. The stack is one of the snapshot's, a target's last
 * one. 0, or -errno, not logged: then nothing is known.
 */
int trace_stack_ages(struct trace *trace, const struct snapshot *snapshot,
		     const struct stack *stack, struct stack_ages *out);

#endif
