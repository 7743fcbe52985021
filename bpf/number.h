/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers that are given out once each: slots, target ids. */
#ifndef MEMLEAKBPF_BPF_NUMBER_H
#define MEMLEAKBPF_BPF_NUMBER_H

#include "bpf/config.h"
#include "bpf/bpf_maps.h"

#ifdef MEMLEAKBPF_OLD_KERNEL
#define NUMBER_NONE 0xffffffffu

/*
 * Before 5.12 no instruction adds and tells the sum. A queue holds the next numbers instead, 0 to
 * config.number_step - 1 at first. Whoever takes n out puts n + config.number_step in, so each
 * number comes once. Nobody waits for another, who may stand still for long on a virtual machine.
 * The queue has more numbers than programs can run at a time, and those kernels do not preempt
 * them. NUMBER_NONE from `end` on.
 */
static __always_inline uint32_t number_next(void *queue, uint32_t end)
{
	uint32_t number = 0, next;

	if (bpf_map_pop_elem(queue, &number))
		return NUMBER_NONE;
	next = number < end ? number + config.number_step : number;
	bpf_map_push_elem(queue, &next, 0);
	return number < end ? number : NUMBER_NONE;
}

/* An unused slot, or ABI_NO_SLOT. */
static __always_inline uint32_t number_slot(void)
{
	return number_next(&slot_numbers, config.max_slots);
}

/* All of them are in the queue from the beginning. */
static __always_inline uint32_t number_unused_target(void)
{
	return 0;
}
#else
static __always_inline uint32_t number_slot(void)
{
	uint32_t slot;

	if (shared.next_slot >= config.max_slots)
		return ABI_NO_SLOT;
	slot = __sync_fetch_and_add(&shared.next_slot, 1);
	/* Or the race for the last one is lost; next_slot stays above the limit, readers cap it. */
	return slot < config.max_slots ? slot : ABI_NO_SLOT;
}

static __always_inline uint32_t number_unused_target(void)
{
	uint32_t id;

	if (shared.last_target_id >= ABI_TARGET_SLOTS)
		return 0;
	id = __sync_fetch_and_add(&shared.last_target_id, 1) + 1;
	/* As with slots: the race for the last one may be lost. */
	return id <= ABI_TARGET_SLOTS ? id : 0;
}
#endif

/*
 * A new target's id, with a row of its own; 0: all rows are taken. User space takes ids in the same
 * way (user/trace/target.c).
 */
static __always_inline uint32_t number_target(void)
{
	uint32_t id = number_unused_target();

	if (!id && bpf_map_pop_elem(&free_ids, &id))
		return 0;
	return id;
}

/* Gives back the id of a target that came to nothing; 0 is fine. */
static __always_inline void number_target_back(uint32_t id)
{
	uint32_t next = id ? abi_next_id_of_row(id) : 0;

	if (next)
		bpf_map_push_elem(&free_ids, &next, 0);
}

#endif
