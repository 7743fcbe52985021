/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of the beginnings of live mappings, by stretches of memory. The live map finds a block
 * by its beginning only, and an unmapped range may have none, one or many of them.
 */
#ifndef MEMLEAKBPF_BPF_MAPPED_H
#define MEMLEAKBPF_BPF_MAPPED_H

#include "bpf/bpf_maps.h"
#include "bpf/config.h"

/* Two sizes of stretches: most of a searched range is empty. */
#define MAPPED_SMALL_SHIFT 21
#define MAPPED_LARGE_SHIFT 30

#define MAPPED_BITS 14
/* Stretches that share a row are searched in vain, which does no harm. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, 1 << MAPPED_BITS);
} mapped_stretches __weak SEC(".maps");

static __always_inline uint32_t *mapped_stretch(uint32_t target_id, uint64_t address,
						uint32_t shift)
{
	uint64_t number = (address >> shift) << 6 | shift;
	uint32_t i = ((number ^ (uint64_t)target_id << 40) * 0x9e3779b97f4a7c15ull) >>
		     (64 - MAPPED_BITS);

	return bpf_map_lookup_elem(&mapped_stretches, &i);
}

static __always_inline bool mapped_is_empty(uint32_t target_id, uint64_t address, uint32_t shift)
{
	uint32_t *n = mapped_stretch(target_id, address, shift);

	return n && !*(volatile uint32_t *)n;
}

/* The size of the stretch around the address in which no mapping begins; 0: one may. */
static __always_inline uint64_t mapped_empty(uint32_t target_id, uint64_t address)
{
	if (mapped_is_empty(target_id, address, MAPPED_LARGE_SHIFT))
		return 1ull << MAPPED_LARGE_SHIFT;
	if (mapped_is_empty(target_id, address, MAPPED_SMALL_SHIFT))
		return 1ull << MAPPED_SMALL_SHIFT;
	return 0;
}

/* Counts a block that has come (1) or gone (-1). Few of other kinds begin with a page. */
static __always_inline void mapped_count(const struct live_key *key, uint32_t n)
{
	uint32_t *small, *large;

	if (!config.search_unmapped || key->address & (config.page_size - 1))
		return;
	small = mapped_stretch(key->target_id, key->address, MAPPED_SMALL_SHIFT);
	large = mapped_stretch(key->target_id, key->address, MAPPED_LARGE_SHIFT);
	if (small)
		__sync_fetch_and_add(small, n);
	if (large)
		__sync_fetch_and_add(large, n);
}

/* Notes the largest size: a mapping may begin so far before an address in it. */
static __always_inline void mapped_note_size(const struct live_key *key, uint64_t size)
{
	uint64_t largest;

	if (!config.search_unmapped || key->address & (config.page_size - 1))
		return;
	largest = *(volatile uint64_t *)&shared.largest_mapping;
	/*
	 * Of two at once the larger one may be lost, and is noted when its like comes again. An
	 * exchange would be exact, but kernels before 5.12 refuse programs that have one anywhere.
	 */
	if (size > largest)
		*(volatile uint64_t *)&shared.largest_mapping = size;
}

#endif
