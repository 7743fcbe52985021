/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps for every walk: where a target's code is, and the tables. */
#ifndef MEMLEAKBPF_BPF_UNWIND_MAPS_H
#define MEMLEAKBPF_BPF_UNWIND_MAPS_H

#include "bpf/unwind_host.h"

#include <bpf/bpf_helpers.h>

struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, UNWIND_CHUNK_BYTES);
};

/*
 * The storage described in bpf/unwind_abi.h. User space adds a chunk when it needs one; lookups are
 * compiled inline.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_CHUNKS);
	__uint(key_size, sizeof(uint32_t));
	__array(values, struct unwind_chunk_map);
} unwind_chunks __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__type(key, uint32_t);
	__type(value, struct unwind_target);
} unwind_targets __weak SEC(".maps");

static __always_inline const uint8_t *unwind_chunk(const struct unwind_state *state, uint32_t word)
{
	(void)state; /* user space keeps its chunks there */

	uint32_t number = word / UNWIND_CHUNK_WORDS, zero = 0;
	void *chunk = bpf_map_lookup_elem(&unwind_chunks, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
}

static __always_inline struct unwind_target *target_row(uint32_t target_id)
{
	uint32_t row = target_id % ABI_TARGET_SLOTS;
	struct unwind_target *target = bpf_map_lookup_elem(&unwind_targets, &row);

	return target && target->target_id == target_id ? target : NULL;
}

static __always_inline const struct unwind_target *unwind_target_of(
	const struct unwind_state *state)
{
	return target_row(state->target_id);
}

#endif
