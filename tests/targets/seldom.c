// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A bug that one allocation in K hits, by chance, for how long it takes until it is found. "KIND K DISTANCE COUNT SEED" does it until it has
 * been hit COUNT times in a guarded block. KIND is "read" or "write", of the first byte behind a block, or "freed": a read of a block
 * DISTANCE allocations after its free. The program knows itself which of its blocks are guarded (by their addresses), which places
 * have been taken since (all blocks are its own), and so what must be seen; it answers with that, and with how many allocations lay
 * between two finds.
 */
#include <stdbool.h>

#include "guard_pool.h"
#include "truth.h"

#define SIZE	   96 /* a multiple of 16: it ends where its page does, if it lies there to the right */
#define OTHER_SIZE 64
#define OTHERS	   16 /* live at a time */
#define HITS	   (1 << 16)
#define PAGE	   4096

/* What became of the places of the pool. */
static struct place {
	uint64_t life; /* blocks that it has had */
	bool buggy;    /* the last one was */
	bool live;
	bool touched; /* told of: each block is once */
} places[GUARD_COUNT_MAX];

static struct {
	uint64_t calls;		/* allocations */
	uint64_t guarded_hits;	/* of the bug, in a block that was guarded when it was allocated */
	uint64_t found;		/* those that are seen, and as what they are */
	uint64_t told[2];	/* what the tool should tell: of blocks of others(), of buggy() */
	uint64_t last;		/* calls at the last find */
	uint64_t between[HITS]; /* finds, in calls */
} books;

static uintptr_t pool, pool_end;
static uint64_t seed;

/* Marsaglia's xorshift64*, from Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016). */
static uint64_t random_number(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull;
}

/* NULL: the block is not guarded. */
static struct place *place_of(const char *block)
{
	uintptr_t at = (uintptr_t)block - pool;

	return at < pool_end - pool ? &places[at >> GUARD_PLACE_BITS] : NULL;
}

static char *enter(char *block, bool buggy)
{
	struct place *place = place_of(block);

	books.calls++;
	if (place)
		*place = (struct place){.life = place->life + 1, .buggy = buggy, .live = true};
	return block;
}

static void leave(char *block)
{
	struct place *place = place_of(block);

	if (place)
		place->live = false;
	free(block);
}

SITE static char *buggy(void)
{
	char *block = enter(malloc(SIZE), true);

	NOT_A_TAIL_CALL();
	return block;
}

SITE static char *other(void)
{
	char *block = enter(malloc(OTHER_SIZE), false);

	NOT_A_TAIL_CALL();
	return block;
}

static void found(void)
{
	books.between[books.found++] = books.calls - books.last;
	books.last = books.calls;
}

/* A write behind one that lies to the left is found at its free: with the fill that is around it. */
static void overflow(bool write)
{
	char *block = buggy();
	struct place *place = place_of(block);

	if (place) {
		bool right = !(((uintptr_t)block + SIZE) % PAGE);

		if (write)
			((volatile char *)block)[SIZE] = 'z';
		else
			((volatile char *)block)[SIZE];
		books.guarded_hits++;
		if (right || write) {
			books.told[true]++;
			found();
		}
	}
	leave(block);
}

/* Blocks that have been freed, and are to be read. */
static struct freed {
	const volatile char *block;
	uint64_t life;
	uint64_t when; /* in calls */
} queue[HITS];
static unsigned int first, last;

static void free_for_later(uint64_t distance)
{
	char *block = buggy();
	struct place *place = place_of(block);

	leave(block);
	/* Of the others it is known that nothing is seen; the allocator may have given them back. */
	if (!place)
		return;
	if (last - first == HITS)
		truth_die("too many freed blocks wait for their read");
	queue[last++ % HITS] =
		(struct freed){.block = block, .life = place->life, .when = books.calls + distance};
}

static void read_freed(void)
{
	for (; first != last && queue[first % HITS].when <= books.calls; first++) {
		const struct freed *freed = &queue[first % HITS];
		struct place *place = place_of((const char *)freed->block);

		(void)*freed->block;
		books.guarded_hits++;
		if (place->live || place->touched)
			continue;
		place->touched = true;
		books.told[place->buggy]++;
		if (place->life == freed->life)
			found();
	}
}

static void step(char kind, uint64_t k, uint64_t distance)
{
	static char *others[OTHERS];
	static unsigned int turn;

	if (random_number() % k) {
		char **at = &others[turn++ % OTHERS];

		if (*at)
			leave(*at);
		*at = other();
	} else if (kind == 'f') {
		free_for_later(distance);
	} else {
		overflow(kind == 'w');
	}
	read_freed();
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static const char *answer(void)
{
	static char text[256];
	uint64_t n = books.found;

	/* qsort() may allocate: the guards have been counted before. */
	qsort(books.between, n, sizeof(books.between[0]), compare);
	snprintf(text, sizeof(text),
		 ",\"calls\":%llu,\"hits\":%llu,\"found\":%llu,\"told\":%llu,\"told_other\":%llu,"
		 "\"median\":%llu,\"p95\":%llu",
		 (unsigned long long)books.calls, (unsigned long long)books.guarded_hits,
		 (unsigned long long)n, (unsigned long long)books.told[true],
		 (unsigned long long)books.told[false],
		 (unsigned long long)(n ? books.between[n / 2] : 0),
		 (unsigned long long)(n ? books.between[n * 19 / 20] : 0));
	return text;
}

static const char *obey(const char *command)
{
	unsigned long long k, distance, count, number;
	char kind[8];

	if (sscanf(command, "%7s %llu %llu %llu %llu", kind, &k, &distance, &count, &number) != 5 ||
	    !k || count > HITS || !number)
		return NULL;
	memset(&books, 0, sizeof(books));
	seed = number;
	pool = mapping_of(POOL_MAPPING, &pool_end);
	if (!pool)
		truth_die("no guards");
	while (books.guarded_hits < count)
		step(kind[0], k, distance);
	return answer();
}

int main(void)
{
	return truth_serve(obey);
}
