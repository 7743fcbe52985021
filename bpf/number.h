/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers that are given out once each: slots, target ids. */
#ifndef MEMLEAKBPF_BPF_NUMBER_H
#define MEMLEAKBPF_BPF_NUMBER_H

#include "bpf/config.h"
#include "bpf/maps.h"

#define NUMBER_NONE 0xffffffffu

#ifdef MEMLEAKBPF_OLD_KERNEL
/*
 * Before 5.12 no instruction adds and tells the sum. A queue of one element is the lock: who has taken it out may count. Programs are not
 * preempted on those kernels, so it is back within a microsecond.
 */
#define NUMBER_TRIES 16

static __always_inline uint32_t number_next(uint32_t *counter)
{
	volatile uint32_t *shared_counter = counter;
	uint32_t token = 0, number, i;
	uint64_t locked = 0;

	for (i = 0; i < NUMBER_TRIES && !locked; i++)
		locked = !bpf_map_pop_elem(&number_lock, &token);
	/* The same whatever the turn: else the verifier would follow the rest of the program once for each. */
	i = 0;
	barrier_var(i);
	barrier_var(locked);
	if (!locked)
		return NUMBER_NONE;
	number = *shared_counter;
	*shared_counter = number + 1;
	bpf_map_push_elem(&number_lock, &token, 0);
	return number;
}

/* User space gives out ids as well, without that lock: the even ones. */
static __always_inline uint32_t number_target(void)
{
	uint32_t number = number_next(&shared.last_target_id);

	return number == NUMBER_NONE ? 0 : 2 * number + 1;
}
#else
static __always_inline uint32_t number_next(uint32_t *counter)
{
	return __sync_fetch_and_add(counter, 1);
}

static __always_inline uint32_t number_target(void)
{
	return number_next(&shared.last_target_id) + 1;
}
#endif

#endif
