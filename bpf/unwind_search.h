/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks a pc up in the tables (bpf/unwind_abi.h): which mapping, which rule. */
#ifndef MEMLEAKBPF_BPF_UNWIND_SEARCH_H
#define MEMLEAKBPF_BPF_UNWIND_SEARCH_H

#include "bpf/unwind_compute.h"
#include "bpf/unwind_host.h"

#define UNWIND_BYTE(word) (((word)*4) & (UNWIND_CHUNK_BYTES - 1))

/* found, or found + step if that is below count and not after pc. */
static __always_inline uint64_t unwind_try_start(const uint8_t *chunk, uint32_t at, uint64_t count,
						 uint64_t pc, uint64_t found, uint64_t step)
{
	uint64_t i = found + step;
	uint64_t start = *(const uint64_t *)(chunk + ((at + i * 8) & (UNWIND_CHUNK_BYTES - 8)));

	return found + (step & unwind_not_above(i + 1, count) & unwind_not_above(start, pc));
}

/* Number of the last start address that is not above pc; set starts are sorted. */
static __always_inline uint32_t unwind_search_set(const uint8_t *chunk, uint32_t at, uint32_t count,
						  uint64_t pc)
{
	const uint32_t usual = 64; /* most processes have fewer mappings */
	uint64_t found = 0;
	uint32_t step;

	if (count > usual) {
		for (step = UNWIND_MAX_MAPPINGS / 2; step >= usual; step /= 2)
			found = unwind_try_start(chunk, at, count, pc, found, step);
	}
	for (step = usual / 2; step; step /= 2)
		found = unwind_try_start(chunk, at, count, pc, found, step);
	return found;
}

/* Finds pc's mapping in the target's set. */
static __always_inline bool unwind_in_set(struct unwind_state *state, uint64_t pc)
{
	uint64_t set = state->set;
	uint32_t word = (uint32_t)set, count = set >> 32, at = UNWIND_BYTE(word), i;
	const struct unwind_mapping *mapping;
	const uint8_t *chunk;
	uint64_t start;

	if (!count)
		return false;
	chunk = unwind_chunk(state, word);
	if (!chunk)
		return false;
	i = unwind_search_set(chunk, at, count, pc);
	start = *(const uint64_t *)(chunk + ((at + i * 8) & (UNWIND_CHUNK_BYTES - 8)));
	at += (count * 8 + UNWIND_SET_ALIGN - 1) & ~(UNWIND_SET_ALIGN - 1);
	mapping = (const void *)(chunk + ((at + i * UNWIND_SET_ALIGN) &
					  (UNWIND_CHUNK_BYTES - UNWIND_SET_ALIGN)));
	if (pc < start || pc >= mapping->end || mapping->stale)
		return false;
	state->map_start = start;
	state->map_end = mapping->end;
	state->map_base = mapping->base;
	state->directory = mapping->directory;
	state->pages = mapping->pages;
	state->object = mapping->object;
	state->asked = 0;
	return true;
}

/* low, or low + step if that row is below high and not after place. */
static __always_inline uint64_t unwind_try_row(const uint8_t *chunk, uint32_t at, uint64_t high,
					       uint32_t place, uint64_t low, uint64_t step)
{
	uint64_t i = low + step;
	uint32_t row = *(const uint32_t *)(chunk + ((at + i * 4) & (UNWIND_CHUNK_BYTES - 4)));

	return low + (step & unwind_not_above(i + 1, high) & unwind_not_above(row >> 16, place));
}

/* Number of the rule at pc, which lies in the current mapping. */
static __always_inline uint32_t unwind_find_rule(struct unwind_state *state, uint64_t pc)
{
	uint64_t offset = pc - state->map_base;
	uint32_t page, at, place = offset & (UNWIND_PAGE_SIZE - 1);
	const uint32_t usual = 8; /* most buckets have fewer rows */
	uint64_t low, high;
	uint32_t step;
	const uint8_t *chunk;

	if (offset >> UNWIND_PAGE_SHIFT >= state->pages)
		return UNWIND_RULE_NONE;
	page = state->directory + (uint32_t)(offset >> UNWIND_PAGE_SHIFT);
	chunk = unwind_chunk(state, page);
	if (!chunk)
		return UNWIND_RULE_NONE;
	page = *(const uint32_t *)(chunk + UNWIND_BYTE(page));
	if (!page)
		return UNWIND_RULE_NONE;
	chunk = unwind_chunk(state, page);
	if (!chunk)
		return UNWIND_RULE_NONE;
	at = UNWIND_BYTE(page) + (place >> UNWIND_BUCKET_SHIFT) * 2;
	low = *(const uint16_t *)(chunk + (at & (UNWIND_CHUNK_BYTES - 2)));
	high = *(const uint16_t *)(chunk + ((at + 2) & (UNWIND_CHUNK_BYTES - 2)));
	/*
	 * The rule at the bucket's first byte may come from an earlier row. Row 0 is always at or
	 * before.
	 */
	if (low)
		low--;
	at = UNWIND_BYTE(page) + UNWIND_PAGE_HEADER * 4;
	if (high > low + usual) {
		for (step = 1u << UNWIND_BUCKET_SHIFT; step >= usual; step /= 2)
			low = unwind_try_row(chunk, at, high, place, low, step);
	}
	for (step = usual / 2; step; step /= 2)
		low = unwind_try_row(chunk, at, high, place, low, step);
	return *(const uint32_t *)(chunk + ((at + low * 4) & (UNWIND_CHUNK_BYTES - 4))) & 0xffff;
}

#endif
