// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stub's work for a guarded block, in the target: copied there as bytes. It uses nothing from
 * outside, no vector registers (the target's are not saved), and no memory but guard_layout.h's. It
 * takes no locks: a signal handler may come back here, or another thread be ended amid it. It makes
 * one system call, madvise, and none once a filter may come that could stop it (guard_leave()).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/gate/stub/random.h"
#include "user/guard/guard_layout.h"

#define HIDDEN extern __attribute__((visibility("hidden")))

/* Placed by guard.lds. */
HIDDEN struct guard_header guard_header;
HIDDEN struct guard_slot guard_slots[];
HIDDEN struct guard_pool guard_pool;
HIDDEN struct guard_meta guard_metas[];
HIDDEN const uint64_t guard_said[];

/* Two registers. */
struct given {
	uint64_t block; /* 0: none */
	uint64_t life;	/* and the bit of GUARD_BY_FAULT_BIT */
};
struct ended {
	uint64_t wrong; /* GUARD_*; 0: nothing */
	uint64_t life;
};

struct given guard_alloc(struct guard_slot *slot, uint64_t size, uint64_t alignment,
			 const uint64_t *stack);
void guard_fill(uint64_t block);
struct ended guard_end(uint64_t block);
struct ended guard_move(uint64_t block, uint64_t size, uint64_t other);
void guard_finish(uint64_t block);
uint64_t guard_usable(uint64_t block);
void guard_leave(void);
void guard_left(void);

/* A call looks at so many places for a block. */
#define TRIES 8

/* Of this machine's system calls, and linux/mman.h. */
#define NR_MADVISE 28
#define DONT_NEED  4

#define FILL_WORD (GUARD_FILL * 0x0101010101010101ull)

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void fill(uint64_t to, int byte, uint64_t size)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
}

static void copy(uint64_t to, uint64_t from, uint64_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/*
 * No filter may stop madvise, as far as the tool has looked. `filters`: what a probe has just said; 0:
 * nothing.
 */
static bool may_drop(uint64_t filters)
{
	return __atomic_load_n(&guard_pool.filters, __ATOMIC_RELAXED) == filters &&
	       !__atomic_load_n(&guard_pool.keep_pages, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&guard_pool.leaves, __ATOMIC_SEQ_CST) ==
		       __atomic_load_n(&guard_pool.allowed, __ATOMIC_SEQ_CST);
}

/*
 * Drops pages without errno, which is the program's. It counts as dropping before it looks for a
 * filter. guard_leave() announces a filter before it looks for droppers. So either this one sees
 * the other, or is waited for.
 */
static bool drop(uint64_t address, uint64_t size, uint64_t filters)
{
	int64_t result = -1;

	__atomic_fetch_add(&guard_pool.dropping, 1, __ATOMIC_SEQ_CST);
	if (may_drop(filters))
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "0"((int64_t)NR_MADVISE), "D"(address), "S"(size),
				   "d"((int64_t)DONT_NEED)
				 : "rcx", "r11", "memory");
	__atomic_fetch_sub(&guard_pool.dropping, 1, __ATOMIC_SEQ_CST);
	return !result;
}

/*
 * What the probe at the end of the place's block has said of the thread's filters. 0: nothing, as no
 * tool has such a probe any more.
 */
static uint64_t said_of(const struct guard_meta *meta)
{
	uint64_t said = __atomic_load_n(&guard_said[meta - guard_metas], __ATOMIC_SEQ_CST);

	if ((said ^ meta->life << GUARD_SAID_BITS) >> GUARD_SAID_BITS)
		return 0;
	return said & ((1 << GUARD_SAID_BITS) - 1);
}

static bool take(struct guard_meta *meta, uint8_t from)
{
	return __atomic_compare_exchange_n(&meta->state, &from, GUARD_BUSY, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static void set_state(struct guard_meta *meta, uint8_t state)
{
	__atomic_store_n(&meta->state, state, __ATOMIC_RELEASE);
}

static bool is_free(uint8_t state)
{
	return state == GUARD_EMPTY || state == GUARD_GONE || state == GUARD_FREED;
}

/* The page of data of a place. */
static uint64_t page_of(const struct guard_meta *meta)
{
	return guard_pool.base + ((uint64_t)(meta - guard_metas) << GUARD_PLACE_BITS) + GUARD_DATA;
}

static uint64_t block_of(const struct guard_meta *meta)
{
	return page_of(meta) + meta->offset;
}

static uint64_t saved_of(const struct guard_meta *meta)
{
	return page_of(meta) - guard_pool.base + guard_pool.save;
}

/* The meta of an address in the pool; the stub has checked that. */
static struct guard_meta *meta_of(uint64_t address)
{
	return &guard_metas[(address - guard_pool.base) >> GUARD_PLACE_BITS];
}

/*
 * The slot's calls are used up. Draws a distance evenly from 1 to 2 * period - 1. A slot's first
 * distance is the rest of such a distance from a random call in it, and long ones have more calls.
 * The smaller one of two draws has that distribution: 2 (range - k) / (range (range + 1)) for k
 * calls before the sample. So threads that make few calls have their share. True: this call is a
 * sample.
 */
static bool draw(struct guard_slot *slot)
{
	/* Read once: the tool may set it to 0 meanwhile, and the range would be wrong. */
	uint64_t period = __atomic_load_n(&guard_header.period, __ATOMIC_RELAXED);
	uint64_t seed = guard_header.seed, range = 2 * period - 1;
	bool first = !slot->random;
	uint64_t left, other;

	if (!period) {
		slot->left = 1ull << 62;
		return false;
	}
	left = stub_random(&slot->random, seed) % range;
	if (!first) {
		slot->left = left;
		return true;
	}
	other = stub_random(&slot->random, seed) % (range + 1);
	if (other < left)
		left = other;
	/* This call is the first of them. */
	slot->left = left ? left - 1 : stub_random(&slot->random, seed) % range;
	return !left;
}

/* Addresses of code that callers are told apart by, and words of the stack that are looked at for them. */
#define RETURNS	    2
#define STACK_WORDS 64

static bool is_code(uint64_t address)
{
	for (int i = 0; i < GUARD_TEXTS && guard_pool.texts[i].to; i++) {
		const struct guard_text *text = &guard_pool.texts[i];

		if (address - text->from < text->to - text->from)
			return true;
	}
	return false;
}

/*
 * The caller: the call's return address. If a probe waits for the return, that is the kernel's
 * trampoline or a gate's code, whoever has called. Then it is the next RETURNS return addresses on
 * the stack, as far as one can tell, with their distances. Looks only at words in the first one's
 * page: the next page need not be there.
 */
static uint64_t caller_of(const uint64_t *stack)
{
	uint64_t caller = *stack, left = (GUARD_PAGE - ((uint64_t)stack & (GUARD_PAGE - 1))) / 8;
	int found = 0;

	if (is_code(caller))
		return caller;
	if (left > STACK_WORDS)
		left = STACK_WORDS;
	for (uint64_t at = 1; at < left && found < RETURNS; at++) {
		if (!is_code(stack[at]))
			continue;
		caller = (caller * 31 + stack[at] + at) * GATE_GOLDEN;
		found++;
	}
	return caller;
}

/* Blocks from one place, and of one size, mostly live alike. */
static uint16_t site_of(uint64_t caller, uint64_t size)
{
	return (uint16_t)((caller * 31 + size) * GATE_GOLDEN >> (64 - GUARD_SITE_BITS));
}

/*
 * Blocks that live for ever must not fill the pool. The fuller it is, the fewer a site may have. It
 * is an eighth of all until the pool is half full, then a thirty-second, and from three quarters on
 * one.
 */
static bool has_share(uint16_t site)
{
	uint64_t live = guard_pool.live - 1, all = guard_pool.count, share = 0;

	if (live < all / 2)
		share = all / 8;
	else if (live < all / 4 * 3)
		share = all / 32;
	return guard_pool.sites[site] < (share ? share : 1);
}

static void count_at(uint16_t site, int change)
{
	__atomic_fetch_add(&guard_pool.sites[site], (uint16_t)change, __ATOMIC_RELAXED);
}

static void count_live(int change)
{
	__atomic_fetch_add(&guard_pool.live, (uint64_t)(int64_t)change, __ATOMIC_SEQ_CST);
}

/*
 * A touched guard faults no more, so a block between touched guards would pass for guarded. If they
 * must not be dropped the place gets none, until a tool that may drop them comes to it, or arm_next(). True, with
 * *there false if they were dropped.
 */
static bool arm(struct guard_meta *meta, bool *there)
{
	if (!__atomic_exchange_n(&meta->touched, 0, __ATOMIC_RELAXED))
		return true;
	if (drop(page_of(meta) - GUARD_DATA, GUARD_PLACE, 0)) {
		*there = false;
		return true;
	}
	__atomic_store_n(&meta->touched, 1, __ATOMIC_RELAXED);
	return false;
}

/*
 * Takes places in turn, so that freed ones stay as they are for as long as can be. NULL: none is
 * free. *there: its page of data exists.
 */
static struct guard_meta *take_place(bool *there)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t life = __atomic_fetch_add(&guard_pool.cursor, 1, __ATOMIC_RELAXED);
		struct guard_meta *meta = &guard_metas[life & (guard_pool.count - 1)];
		uint8_t state = meta->state;

		if (is_free(state) && take(meta, state)) {
			*there = state == GUARD_FREED;
			if (arm(meta, there)) {
				meta->life = life + 1;
				return meta;
			}
			set_state(meta, state);
		}
	}
	return NULL;
}

/*
 * To the right: then the first byte behind the block lies in a guard if its size is a multiple of
 * the alignment. Now and then to the left: then the last byte before it does.
 */
static uint64_t offset_of(const struct guard_slot *slot, uint64_t size, uint64_t alignment)
{
	if ((slot->random >> 32 & 0xff) < guard_header.at_left)
		return 0;
	return (GUARD_PAGE - size) & ~(alignment - 1);
}

static struct given give_block(struct guard_slot *slot, uint64_t size, uint64_t alignment,
			       const uint64_t *stack)
{
	static const struct given none = {0, 0};
	struct guard_meta *meta;
	uint64_t page, by_fault;
	uint16_t site;
	bool there;

	if (!draw(slot))
		return none;
	if (size > GUARD_BLOCK_MAX || alignment > GUARD_PAGE || (alignment & (alignment - 1)) ||
	    (alignment && alignment < sizeof(void *))) {
		count(&guard_header.unfit);
		return none;
	}
	/* Never less than 16: programs keep marks in the low bits of addresses. */
	if (alignment < 16)
		alignment = 16;
	site = site_of(caller_of(stack), size);
	if (!has_share(site)) {
		count(&guard_header.passed);
		return none;
	}
	meta = take_place(&there);
	if (!meta) {
		count(&guard_header.full);
		return none;
	}
	count_at(site, 1);
	page = page_of(meta);
	meta->offset = (uint16_t)offset_of(slot, size, alignment);
	meta->size = (uint16_t)size;
	meta->site = site;
	meta->changed_at = 0;
	meta->changed_to = 0;
	count(&guard_header.guarded);
	by_fault = guard_header.by_fault && !there;
	return (struct given){page + meta->offset, meta->life | by_fault << GUARD_BY_FAULT_BIT};
}

/*
 * 0: there is no guarded block, and the allocator is to be called. Else guard_fill() is to come,
 * and the place is GUARD_BUSY until then. `alignment` 0: the usual one. Counts the block before it
 * looks at the period. guard_close() sets that to 0: if it then finds no block counted, none is to
 * come.
 */
struct given guard_alloc(struct guard_slot *slot, uint64_t size, uint64_t alignment,
			 const uint64_t *stack)
{
	struct given given;

	count_live(1);
	given = give_block(slot, size, alignment, stack);
	if (!given.block)
		count_live(-1);
	return given;
}

/* Comes after the block has been told. */
void guard_fill(uint64_t block)
{
	struct guard_meta *meta = meta_of(block);
	uint64_t page = page_of(meta);

	fill(page, GUARD_FILL, GUARD_PAGE);
	/* Also malloc's blocks: a program that reads bytes it has not set reads zeros. */
	fill(page + meta->offset, 0, meta->size);
	set_state(meta, GUARD_LIVE);
}

/* Eight words at a time: a page is looked at for each block. */
#define STRIDE 64

static bool is_filled(uint64_t at)
{
	const uint64_t *words = (const uint64_t *)at;
	uint64_t other = 0;

#pragma GCC unroll 8
	for (int i = 0; i < STRIDE / 8; i++)
		other |= words[i] ^ FILL_WORD;
	return !other;
}

/* The first byte other than the fill in [from, to), or `to`. */
static uint64_t first_change(uint64_t from, uint64_t to)
{
	while (from < to) {
		if (to - from >= STRIDE && is_filled(from))
			from += STRIDE;
		else if (*(const uint8_t *)from == GUARD_FILL)
			from++;
		else
			break;
	}
	return from;
}

/* The last byte other than the fill, or `from` - 1. */
static uint64_t last_change(uint64_t from, uint64_t to)
{
	while (to > from) {
		if (to - from >= STRIDE && is_filled(to - STRIDE))
			to -= STRIDE;
		else if (*(const uint8_t *)(to - 1) == GUARD_FILL)
			to--;
		else
			break;
	}
	return to - 1;
}

/*
 * Has anything been written around it? Notes the nearest changed byte, behind it or else before it.
 */
static bool is_changed(struct guard_meta *meta)
{
	uint64_t page = page_of(meta), block = block_of(meta), end = page + GUARD_PAGE, at;

	at = first_change(block + meta->size, end);
	if (at == end) {
		at = last_change(page, block);
		if (at == page - 1)
			return false;
	}
	meta->changed_at = (int16_t)(at - block);
	meta->changed_to = *(const uint8_t *)at;
	return true;
}

/*
 * Ends the block's life, but not its page: guard_finish() does that. Where this returns 0 or
 * GUARD_CHANGED, it leaves the place in GUARD_BUSY for it.
 */
struct ended guard_end(uint64_t block)
{
	struct guard_meta *meta = meta_of(block);

	if (meta->state == GUARD_EMPTY || block_of(meta) != block) {
		count(&guard_header.invalid_freed);
		return (struct ended){GUARD_INVALID_FREE, 0};
	}
	if (!take(meta, GUARD_LIVE)) {
		count(&guard_header.double_freed);
		return (struct ended){GUARD_DOUBLE_FREE, 0};
	}
	/*
	 * It was another block a moment ago: two threads freed it at a time, and a third one
	 * allocated.
	 */
	if (block_of(meta) != block) {
		set_state(meta, GUARD_LIVE);
		count(&guard_header.invalid_freed);
		return (struct ended){GUARD_INVALID_FREE, 0};
	}
	count(&guard_header.freed);
	if (!is_changed(meta))
		return (struct ended){0, meta->life};
	count(&guard_header.changed);
	return (struct ended){GUARD_CHANGED, meta->life};
}

/* Where only a block's end knows of the thread's filters it arms the places that are the next ones' as well. */
static void arm_next(uint64_t filters)
{
	uint64_t cursor = guard_pool.cursor;

	for (uint64_t i = 0; filters && i < TRIES; i++) {
		struct guard_meta *meta = &guard_metas[(cursor + i) & (guard_pool.count - 1)];
		uint8_t state = meta->state;

		if (!meta->touched || !is_free(state) || !take(meta, state))
			continue;
		if (state == GUARD_FREED)
			copy(saved_of(meta), page_of(meta), GUARD_PAGE);
		if (drop(page_of(meta) - GUARD_DATA, GUARD_PLACE, filters)) {
			__atomic_store_n(&meta->touched, 0, __ATOMIC_RELAXED);
			state = state == GUARD_FREED ? GUARD_GONE : state;
		}
		set_state(meta, state);
	}
}

/* Comes after the end has been told: from now on the place may be another block's. */
void guard_finish(uint64_t block)
{
	struct guard_meta *meta = meta_of(block);
	uint64_t page = page_of(meta), filters;

	count_at(meta->site, -1);
	count_live(-1);
	meta->ended = guard_pool.cursor;
	/* Not in a forked child: the words are its parent's. */
	filters = guard_header.alive ? said_of(meta) : 0;
	/* A forked child has the same file, which saves the parent's blocks, and takes no place. */
	if (!guard_header.alive || !may_drop(filters)) {
		set_state(meta, GUARD_FREED);
		return;
	}
	copy(saved_of(meta), page, GUARD_PAGE);
	set_state(meta, drop(page, GUARD_PAGE, filters) ? GUARD_GONE : GUARD_FREED);
	arm_next(filters);
}

/*
 * The block's contents and size, also for a freed one, as a read of it would give them. 0 bytes:
 * there are none.
 */
static uint64_t content(uint64_t block, uint64_t *size)
{
	const struct guard_meta *meta = meta_of(block);
	uint8_t state = meta->state;

	*size = meta->size;
	if (block_of(meta) != block || state == GUARD_EMPTY || state == GUARD_BUSY)
		*size = 0;
	return state == GUARD_GONE ? saved_of(meta) + meta->offset : block;
}

/*
 * realloc to `size` bytes, for which the allocator has given `other`, or nothing. As guard_end();
 * or GUARD_STAYS.
 */
struct ended guard_move(uint64_t block, uint64_t size, uint64_t other)
{
	uint64_t there, from;

	count(&guard_header.resized);
	if (!other && size)
		return (struct ended){GUARD_STAYS, 0};
	from = content(block, &there);
	if (other)
		copy(other, from, there < size ? there : size);
	return guard_end(block);
}

uint64_t guard_usable(uint64_t block)
{
	const struct guard_meta *meta = meta_of(block);

	return meta->state != GUARD_EMPTY && block_of(meta) == block ? meta->size : 0;
}

/*
 * Some seconds: a dropper may be waiting for a processor, be held by a debugger, or have been ended
 * amid it.
 */
#define PATIENCE (1u << 26)

/*
 * This thread is about to make a call that may give it, or every thread, a filter. From here on nobody begins a
 * madvise, and none is under way. A forked child makes none at all.
 */
void guard_leave(void)
{
	if (!guard_header.alive)
		return;
	__atomic_fetch_add(&guard_pool.leaves, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0;
	     i < PATIENCE && __atomic_load_n(&guard_pool.dropping, __ATOMIC_SEQ_CST); i++)
		__builtin_ia32_pause();
}

/* The call has ended, whatever has come of it: the tool may look. */
void guard_left(void)
{
	if (guard_header.alive)
		__atomic_fetch_add(&guard_pool.left, 1, __ATOMIC_SEQ_CST);
}
