/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The effect of munmap(). It takes whole blocks away, the beginning of one, the end of one, or a
 * hole in it. One call may do all of these, when an allocator gives back neighbours that it has
 * mapped one by one.
 */
#ifndef MEMLEAKBPF_BPF_UNMAP_H
#define MEMLEAKBPF_BPF_UNMAP_H

#include "bpf/alloc.h"
#include "bpf/mapped.h"

/*
 * Pages and empty stretches that are looked at: 16 and 4 MiB where none is empty, otherwise
 * terabytes.
 */
#define UNMAP_STEPS 4096
#define BELOW_STEPS 1024

struct unmapping {
	uint64_t at, end; /* the rest of the range */
	uint64_t low;	  /* for the search for a block that begins before it */
	uint32_t target_id;
	uint32_t found;
};

/* `value` begins at `start`: cuts its end off, or makes a hole in it. */
static __always_inline void unmap_part(struct live_value *value, uint32_t target_id, uint64_t start,
				       uint64_t address, uint64_t size)
{
	if (address + size < start + value->size)
		count_lost(target_id, LOST_PARTIAL_UNMAP);
	else
		count_cut(value, address - start);
}

/*
 * Takes the block that begins at the address, or its part before `end`. Returns its size; 0: none
 * begins there.
 */
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

#ifdef MEMLEAKBPF_OLD_KERNEL
/* These kernels refuse a program with a callback, even one that it never comes to. */
static __always_inline void unmap_rest(struct unmapping *u)
{
	(void)u;
}

static __always_inline void unmap_below(struct unmapping *u)
{
	(void)u;
}
#else
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

/* Takes all blocks that begin in the rest of the range. */
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
 * The range may begin in a block: cuts its end off, or makes a hole in it. Mappings do not overlap,
 * so it can only be the nearest one that begins before the range.
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

/* The thread knows its latest mapping by its range. True: it is that one. */
static __always_inline bool unmap_inside(struct thread_state *thread, struct unmapping *u)
{
	uint64_t start = thread->mmap_address, end = start + thread->mmap_size;
	struct live_key key = {.address = start, .target_id = u->target_id};
	struct live_value *value;

	if (u->at <= start || u->at >= end)
		return false;
	value = bpf_map_lookup_elem(&live, &key);
	if (!value || value->size != thread->mmap_size)
		return false;
	unmap_part(value, u->target_id, start, u->at, u->end - u->at);
	thread->mmap_size = value->size;
	u->at = end;
	return true;
}

/*
 * PHP cuts the end off a huge block that gets smaller (zend_mm_chunk_truncate(),
 * Zend/zend_alloc.c). The call does not say where the block begins, but it begins at a multiple of
 * ZEND_MM_CHUNK_SIZE. A block mapped before the attach is not found, and another one in front of it
 * ends before.
 */
#define ARENA_MULTIPLE (2ull << 20)
#define ARENA_REACH    512 /* multiples: 1 GiB */

struct arena_search {
	uint64_t start;
	uint32_t target_id;
};

/* 1: enough. */
static long arena_look_at(uint32_t i, struct arena_search *search)
{
	(void)i;
	if (arena_at(search->target_id, search->start))
		return 1;
	search->start -= ARENA_MULTIPLE;
	return 0;
}

/* The verifier follows each turn of a loop, but goes through a callback once. */
static __always_inline void arena_search_back(struct arena_search *search)
{
	uint32_t i;

#ifndef MEMLEAKBPF_OLD_KERNEL
	if (config.loops) {
		bpf_loop(ARENA_REACH, arena_look_at, search, 0);
		return;
	}
#endif
	for (i = 0; i < ARENA_REACH; i++) {
		if (arena_look_at(i, search))
			break;
	}
}

static __always_inline bool unmap_in_arena(const struct pt_regs *ctx, uint32_t target_id,
					   uint64_t address, uint64_t size)
{
	struct arena_search search = {.start = (address - 1) & ~(ARENA_MULTIPLE - 1),
				      .target_id = target_id};
	struct live_value *value;
	uint64_t start;

	if (!pool_of_any_size_calls(ctx, target_id))
		return false;
	arena_search_back(&search);
	start = search.start;
	value = arena_at(target_id, start);
	if (!value || address - start >= value->size)
		return false;
	unmap_part(value, target_id, start, address, size);
	return true;
}

/* On munmap(). */
static __always_inline int unmaps(struct pt_regs *ctx)
{
	uint64_t address = regs_argument(ctx, 1), begun;
	uint64_t size = size_in_pages(regs_argument(ctx, 2));
	struct thread_state *thread = NULL;
	struct unmapping rest = {.at = address, .end = address + size};
	struct target_info target;

	if (!current_watched(&target, &thread) || rest.end <= address)
		return 0;
	rest.target_id = target.id;
	begun = unmap_block(thread, target.id, address, rest.end);
	if (begun)
		rest.at += size_in_pages(begun);
	else if ((!thread || !unmap_inside(thread, &rest)) &&
		 !unmap_in_arena(ctx, target.id, address, size))
		unmap_below(&rest);
	unmap_rest(&rest);
	return 0;
}

#endif
