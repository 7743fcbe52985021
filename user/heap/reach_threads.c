// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/reach_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/dead_memory.h"

/*
 * A stack that lies in a block (makecontext, pthread_attr_setstack) is a root as far as it is in
 * use.
 */
static void reach_follow_stack_in_block(struct reach *r, const struct memory_thread *thread)
{
	uint32_t block = block_index_find(r->index, thread->sp);
	uint64_t start = (thread->sp - STACK_RED_ZONE) & ~7ull, end;

	if (block == BLOCK_NONE)
		return;
	end = heap_block_end(r->image, block);
	reach_follow_stack(r, start, end);
	reach_inside_add(&r->inside, start, end);
}

/* The control block may lie in a block, with the stack. */
static void reach_follow_vector(struct reach *r, uint64_t vector, uint64_t from)
{
	reach_follow(r, vector - 16, reach_word(&r->marks.holders, from), true);
	reach_inside_add(&r->inside, from, from + 8);
}

/*
 * glibc's vector of a thread's TLS blocks: the thread pointer's second word is the address of its
 * second entry (tcbhead_t, dtv_t: 16 bytes), which for threads made since the attach lies in a
 * block that we know. Without this all dynamic TLS would be possibly lost.
 */
static void reach_follow_tls_vector(struct reach *r, const struct memory_thread *thread)
{
	uint64_t tcb, vector, self;
	uint32_t block;

	if (!memory_image_word(r->image->memory, thread->tls, &tcb) || tcb != thread->tls ||
	    !memory_image_word(r->image->memory, thread->tls + 8, &vector) ||
	    !memory_image_word(r->image->memory, thread->tls + 16, &self) || self != thread->tls)
		return;
	block = block_index_find(r->index, vector);
	if (block != BLOCK_NONE && vector - heap_block_address(r->image, block) == 16)
		reach_follow_vector(r, vector, thread->tls + 8);
}

/*
 * The same of a thread that has ended: glibc keeps its stack for the next one, which gets the vector as well. Not
 * so where it was not joined: that stack is nobody's.
 */
static void reach_follow_ended_vector(struct reach *r, const struct heap_ended *ended)
{
	uint64_t vector;
	uint32_t block;

	if (!memory_image_word(r->image->memory, ended->block + 8, &vector))
		return;
	block = block_index_find(r->index, vector);
	if (block != BLOCK_NONE && vector - heap_block_address(r->image, block) == 16)
		reach_follow_vector(r, vector, ended->block + 8);
}

/*
 * musl takes its first thread's memory from its own allocator, past malloc: an old block, which the thread pointer leads
 * into. Not so where the stack lies in it as well: of that only a part is in use.
 */
static void reach_take_thread_block(struct reach *r, size_t thread)
{
	const struct memory_thread *t = &r->image->memory->threads[thread];
	uint32_t block = block_index_find(r->index, t->tls);

	if (block == BLOCK_NONE || !reach_is_old(r, block) ||
	    block_index_find(r->index, t->sp) == block)
		return;
	reach_take(r, block, reach_word_of_thread(&r->marks.holders, thread), true);
}

/* Around the thread pointer; not what lies there of a stack, which is below. */
static void reach_follow_thread_local(struct reach *r, const struct memory_thread *thread)
{
	uint64_t start = (thread->tls & ~4095ull) - 4096, end = (thread->tls & ~7ull) + 4096;
	const struct memory_region *region;

	if (thread->tls < 8192)
		return;
	region = memory_image_region(r->image->memory, thread->tls & ~7ull);
	if (!region || region->start > thread->tls)
		return;
	start = start > region->start ? start : region->start;
	end = end < region->start + region->size ? end : region->start + region->size;
	if (region->mapping && thread->sp >= region->mapping->start && thread->sp < thread->tls &&
	    thread->sp >= start)
		start = (thread->sp + 7) & ~7ull;
	reach_follow_part(r, region, start, end, false);
}

void reach_follow_thread_locals(struct reach *r)
{
	const struct memory_image *memory = r->image->memory;

	for (size_t i = 0; i < memory->thread_count; i++) {
		reach_follow_thread_local(r, &memory->threads[i]);
		reach_follow_tls_vector(r, &memory->threads[i]);
		reach_take_thread_block(r, i);
	}
	for (size_t i = 0; i < r->image->ended_count; i++) {
		if (!r->image->ended[i].unjoined)
			reach_follow_ended_vector(r, &r->image->ended[i]);
	}
}

void reach_follow_stacks_in_blocks(struct reach *r)
{
	for (size_t i = 0; i < r->image->memory->thread_count; i++)
		reach_follow_stack_in_block(r, &r->image->memory->threads[i]);
}

/* ---- threads that were not joined --------------------------------------------------------- */

/* The unjoined thread whose pthread_t the word is; they are by address, as the mappings are. */
static void reach_hold_thread(struct reach *r, uint64_t word)
{
	const struct heap_ended *ended = r->image->ended;
	size_t behind = BISECT(i, 0, r->image->ended_count, ended[i].block <= word);

	if (behind && ended[behind - 1].block == word && ended[behind - 1].unjoined)
		r->held[behind - 1] = true;
}

/* Is the word at the address something that holds? What is dead is not, nor is what is lost. */
static bool reach_holds(const struct reach *r, uint64_t address)
{
	uint32_t block = block_index_find(r->index, address);
	size_t dead = heap_image_first_dead(r->image, address);

	if (dead < r->image->dead_count && r->image->dead[dead].start <= address)
		return false;
	return block == BLOCK_NONE || reach_state(&r->marks, block) != REACH_LEFT;
}

static void reach_search_threads(struct reach *r)
{
	const struct memory_image *memory = r->image->memory;
	uint64_t low = r->image->ended[0].block;
	uint64_t span = r->image->ended[r->image->ended_count - 1].block - low;

	for (size_t i = 0; i < memory->region_count; i++) {
		const struct memory_region *region = &memory->regions[i];

		for (uint64_t w = 0; w < region->size / 8; w++) {
			if (region->words[w] - low <= span && reach_holds(r, region->start + 8 * w))
				reach_hold_thread(r, region->words[w]);
		}
	}
	for (size_t i = 0; i < memory->thread_count; i++) {
		for (size_t w = 0; w < memory->threads[i].word_count; w++)
			reach_hold_thread(r, memory->threads[i].words[w]);
	}
}

int reach_hold_unjoined(struct reach *r)
{
	size_t unjoined = 0;

	for (size_t i = 0; i < r->image->ended_count; i++)
		unjoined += r->image->ended[i].unjoined;
	if (!unjoined)
		return 0;
	r->held = calloc(r->image->ended_count, sizeof(*r->held));
	if (!r->held)
		return -ENOMEM;
	reach_search_threads(r);
	for (size_t i = 0; i < r->image->ended_count; i++) {
		if (r->held[i])
			reach_follow_ended_vector(r, &r->image->ended[i]);
	}
	return 0;
}
