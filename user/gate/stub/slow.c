// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stub's work for a sample, in the target: copied there as bytes. It uses nothing from outside,
 * no vector registers (the target's are not saved), and no memory but the gate's own. It takes no
 * locks: a signal handler may come back here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/gate/stub/random.h"
#include "user/gate/stub_layout.h"

#define HIDDEN extern __attribute__((visibility("hidden")))

/* Placed by stub.lds. */
HIDDEN struct gate_header gate_header;
HIDDEN struct gate_slot gate_slots[];
HIDDEN uint8_t gate_filter[];
HIDDEN uint64_t gate_set[];

struct gate_slot *gate_own(struct gate_slot *home);
int gate_draw(struct gate_slot *home, struct gate_call *call);
void gate_count(struct gate_call *call, uint64_t size);
int gate_insert(uint64_t block, struct gate_call *call);
int gate_reinsert(uint64_t block, uint64_t old, uint64_t size, struct gate_call *call);
int gate_remove(uint64_t block);

/* A thread looks at so many slots for one of its own. */
#define CROWD 64

static uint64_t thread_pointer(void)
{
	uint64_t self;

	/* The thread control block begins with its own address: ELF Handling for TLS, variant II. */
	__asm__("mov %%fs:0x10,%0" : "=r"(self));
	return self;
}

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* An exponential distance: -log2(u) * mean * ln 2, u in (0, 1), by integers. */
static uint64_t next_distance(struct gate_slot *slot, uint64_t mean_ln2)
{
	const uint32_t *log2 = gate_header.log2;
	uint64_t x = stub_random(&slot->random, gate_header.seed) | 1, fraction;
	uint32_t zeros = (uint32_t)__builtin_clzll(x), i, low;

	fraction = zeros == 63 ? 0 : x << (zeros + 1);
	i = (uint32_t)(fraction >> 56);
	low = log2[i] + (uint32_t)((log2[i + 1] - log2[i]) * (fraction >> 40 & 0xffff) >> 16);
	return (uint64_t)((unsigned __int128)mean_ln2 * (((zeros + 1) << 24) - low) >>
			  (24 + GATE_MEAN_BITS));
}

/*
 * Finds the slot that is this thread's alone. Slots are never given back, so no fast path needs an
 * atomic instruction: a new thread's control block is mostly where an old one's was. If all are
 * taken, takes the nearest one; its owner finds another or takes it back.
 */
struct gate_slot *gate_own(struct gate_slot *home)
{
	uint64_t thread = thread_pointer(), first = (uint64_t)(home - gate_slots);

	for (uint64_t i = 0; i < CROWD; i++) {
		struct gate_slot *slot = &gate_slots[(first + i) % (1u << GATE_SLOT_BITS)];
		uint64_t is = slot->thread;

		/* A handler of this very thread may be faster. */
		if (is == thread ||
		    (!is && (__atomic_compare_exchange_n(&slot->thread, &is, thread, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			     is == thread)))
			return slot;
	}
	count(&gate_header.crowded);
	home->inside = 0;
	home->thread = thread;
	return home;
}

/*
 * Enters a call. A call left by longjmp is forgotten: it is not above the frame of the next call
 * any more. 0: the call is inside of another one.
 */
static int enter(struct gate_slot *home, struct gate_call *call)
{
	struct gate_slot *own = gate_own(home);

	call->home = home;
	call->left = home->left;
	call->level = call->left_level = home->level;
	call->own = (uint64_t)call < own->inside ? NULL : own;
	if (call->own)
		own->inside = (uint64_t)call;
	return call->own != NULL;
}

static void leave(const struct gate_call *call)
{
	if (!call->own)
		return;
	call->own->inside = 0;
	call->home->left = call->left;
	call->home->level = call->left_level;
}

/* Draws with the slot's level, of which a probe is told when the distance is at its end. */
static void draw_left(struct gate_slot *home)
{
	uint64_t level = home->level;

	home->left =
		next_distance(home, gate_header.mean_ln2 << (level > GATE_LEVEL_MAX ? 0 : level));
}

/* Nothing has been drawn before, so this call need not be a sample: the slot began at 0 bytes. */
static int draw_first(struct gate_slot *home)
{
	uint64_t size = -home->left;

	home->level = gate_header.level;
	draw_left(home);
	if (home->left < size)
		return 1;
	home->left -= size;
	return 0;
}

/*
 * The slot's bytes are used up. Draws the next distance before it calls the allocator: longjmp may
 * leave that, and the counter must not stay wrapped. 1: this call is a sample.
 */
int gate_draw(struct gate_slot *home, struct gate_call *call)
{
	call->sample = 0;
	if (!gate_header.mean_ln2) {
		home->left = 1ull << 62;
		return 0;
	}
	if (!home->random && !draw_first(home))
		return 0;
	/*
	 * Inside of another call it is no sample, and gives back what is left, so it has that
	 * call's level.
	 */
	call->sample = enter(home, call);
	if (call->sample)
		home->level = gate_header.level;
	draw_left(home);
	call->left = home->left;
	call->left_level = home->level;
	return (int)call->sample;
}

/* realloc of a former sample: counts its bytes; the call is made from the stub anyway. */
void gate_count(struct gate_call *call, uint64_t size)
{
	struct gate_slot *home =
		gate_slots + (thread_pointer() * GATE_GOLDEN >> (64 - GATE_SLOT_BITS));
	uint64_t left = home->left;

	home->left = left - size;
	if (size > left) {
		if (gate_draw(home, call))
			return;
	}
	call->sample = 0;
	enter(home, call);
}

/*
 * All bits of the address count (MurmurHash3's finalizer, Appleby). jemalloc's addresses lie in
 * slabs: a multiplication alone leaves most buckets empty.
 */
static uint64_t *bucket(uint64_t block, bool second)
{
	uint64_t x = block;

	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 33;
	return gate_set + ((second ? x << 32 : x) >> (64 - GATE_SET_BITS) & ~7ull);
}

static uint8_t *filter_byte(uint64_t block)
{
	return gate_filter + (block * GATE_GOLDEN >> (64 - GATE_FILTER_BITS));
}

/* 255 stays for good: a byte that was there once too often cannot be counted down. */
static void filter_add(uint64_t block, int change)
{
	uint8_t *byte = filter_byte(block), old = *byte;

	while (old != 255 &&
	       !__atomic_compare_exchange_n(byte, &old, (uint8_t)(old + change), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/*
 * A block's form in the set. A verdict or a collector of garbage searches the process's memory for
 * pointers: the address itself would make the block look held. 0 is an empty place.
 */
static uint64_t noted(uint64_t block)
{
	return ~block;
}

static bool set_replace(uint64_t block, uint64_t from, uint64_t to)
{
	for (int second = 0; second < 2; second++) {
		uint64_t *at = bucket(block, second);

		for (int i = 0; i < 8; i++) {
			uint64_t is = from;

			if (at[i] == from &&
			    __atomic_compare_exchange_n(&at[i], &is, to, false, __ATOMIC_SEQ_CST,
							__ATOMIC_RELAXED))
				return true;
		}
	}
	return false;
}

static bool set_has(uint64_t block)
{
	for (int second = 0; second < 2; second++) {
		const uint64_t *at = bucket(block, second);

		for (int i = 0; i < 8; i++) {
			if (at[i] == noted(block))
				return true;
		}
	}
	return false;
}

/* 1: the block is to be told. */
static int insert(uint64_t block)
{
	/* A handler may have forked meanwhile: in the child the gate is off. */
	if (!block || !gate_header.mean_ln2)
		return 0;
	/* Freed by a function that has no gate. */
	if (set_has(block))
		return 1;
	filter_add(block, 1);
	if (set_replace(block, 0, noted(block))) {
		count(&gate_header.sampled);
		return 1;
	}
	filter_add(block, -1);
	count(&gate_header.dropped);
	return 0;
}

/*
 * A sample's call has returned; block 0: with nothing. Comes before the caller sees the block, so
 * its end cannot come first. 1: to be told.
 */
int gate_insert(uint64_t block, struct gate_call *call)
{
	leave(call);
	return insert(block);
}

/*
 * realloc of a former sample has returned. 1: to be told: the new block, or that the old one still
 * exists. With size 0, which frees, it does not.
 */
int gate_reinsert(uint64_t block, uint64_t old, uint64_t size, struct gate_call *call)
{
	leave(call);
	if (block)
		return call->sample ? insert(block) : 0;
	return size ? insert(old) : 0;
}

/* Comes before the block is freed: afterwards it may be another thread's. 1: it was a sample. */
int gate_remove(uint64_t block)
{
	if (!block || !set_replace(block, noted(block), 0))
		return 0;
	filter_add(block, -1);
	count(&gate_header.removed);
	return 1;
}
