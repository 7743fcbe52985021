/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What munmap() takes away: whole blocks, the beginning of one, the end of one, or a hole in it; all of these by
 * one call, as where an allocator gives back neighbours that it has mapped one by one.
 */
#ifndef MEMLEAKBPF_BPF_UNMAP_H
#define MEMLEAKBPF_BPF_UNMAP_H

#include "bpf/alloc.h"
#include "bpf/mapped.h"

/* Pages and empty stretches that are looked at: where none is empty 16 and 4 MiB, otherwise terabytes. */
#define UNMAP_STEPS 4096
#define BELOW_STEPS 1024

struct unmapping {
	uint64_t at, end; /* what is left of the range */
	uint64_t low;	  /* of the search for a block that begins before it */
	uint32_t target_id;
	uint32_t found;
};

/* `value` begins at `start`: the end of it is cut off, or a hole is made in it. */
static __always_inline void unmap_part(struct live_value *value, uint32_t target_id, uint64_t start,
				       uint64_t address, uint64_t size)
{
	if (address + size < start + value->size)
		count_lost(target_id, LOST_PARTIAL_UNMAP);
	else
		count_cut(value, address - start);
}

/* The block that begins at the address, or what of it is before `end`. Returns its size; 0: none begins there. */
static __always_inline uint64_t unmap_block(struct thread_state *thread, uint32_t target_id,
					    uint64_t address, uint64_t end)
{
	struct live_key key = {.address = end, .target_id = target_id};
	struct live_value value;
	uint64_t size;

	if (!live_take(target_id, address, &value))
		return 0;
	size = value.size;
	if (end - address >= size) {
		count_free_of(&value);
		figures_freed(thread, address, &value);
		return size;
	}
	/* The front is cut off. */
	count_cut(&value, size - (end - address));
	if (live_put(&key, &value, BPF_ANY)) {
		count_free_of(&value);
		count_lost(target_id, LOST_LIVE_FULL);
	}
	if (thread && thread->mmap_address == address) {
		thread->mmap_address = end;
		thread->mmap_size = value.size;
	}
	return size;
}

static long unmap_next(uint32_t i, struct unmapping *u)
{
	uint64_t empty, size;

	(void)i;
	if (u->at >= u->end)
		return 1;
	empty = mapped_empty(u->target_id, u->at);
	if (empty) {
		u->at = (u->at | (empty - 1)) + 1;
		return 0;
	}
	size = unmap_block(NULL, u->target_id, u->at, u->end);
	u->at += size ? size_in_pages(size) : config.page_size;
	return 0;
}

/* All blocks that begin in the rest of the range. */
static __always_inline void unmap_rest(struct unmapping *u)
{
	if (!config.search_unmapped || u->at >= u->end)
		return;
	bpf_loop(UNMAP_STEPS, unmap_next, u, 0);
	if (u->at < u->end)
		count_lost(u->target_id, LOST_PARTIAL_UNMAP);
}

static long unmap_look_below(uint32_t i, struct unmapping *u)
{
	struct live_key key = {.target_id = u->target_id};
	uint64_t empty;

	(void)i;
	if (u->at <= u->low)
		return 1;
	u->at -= config.page_size;
	empty = mapped_empty(u->target_id, u->at);
	if (empty) {
		u->at &= ~(empty - 1);
		return 0;
	}
	key.address = u->at;
	u->found = bpf_map_lookup_elem(&live, &key) != NULL;
	return u->found;
}

/*
 * The range begins in a block: its end is cut off, or a hole is made in it. Mappings do not overlap: the nearest
 * one that begins before the range is the only one that can be that.
 */
static __always_inline void unmap_below(struct unmapping *u)
{
	struct unmapping below = *u;
	struct live_key key = {.target_id = u->target_id};
	uint64_t reach = shared.largest_mapping, end;
	struct live_value *value;

	if (!config.search_unmapped || u->at & (config.page_size - 1))
		return;
	below.low = u->at > reach ? u->at - reach : 0;
	bpf_loop(BELOW_STEPS, unmap_look_below, &below, 0);
	key.address = below.at;
	value = below.found ? bpf_map_lookup_elem(&live, &key) : NULL;
	if (!value || u->at - below.at >= value->size)
		return;
	end = below.at + value->size;
	unmap_part(value, u->target_id, below.at, u->at, u->end - u->at);
	u->at = end;
}

#endif
