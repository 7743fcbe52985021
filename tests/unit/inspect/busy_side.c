// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program whose threads do nothing but allocate, resize and free, each other's blocks too, with whatever malloc()
 * it runs with (test_busy_heaps.c builds it). All that it has is held. Some blocks stay for good: each but the
 * first is held by the one before alone; it prints where they are, then "ready", and lets its threads begin. It
 * ends with its standard input.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS	2000 /* of each thread, about half of them full */
#define STEADY	2000

struct steady {
	struct steady *next;
};

static struct steady *steady;
static void *held[THREADS][SLOTS];

static size_t some_size(unsigned *seed, size_t slot)
{
	static const size_t most[] = {100, 1100, 9000, 70000};

	return sizeof(struct steady) + (size_t)rand_r(seed) % most[slot % 4];
}

static void *need(void *block)
{
	if (!block)
		abort();
	return block;
}

/* What is in a slot is one's own once it has been taken out. */
static void *take(unsigned thread, size_t slot)
{
	return __atomic_exchange_n(&held[thread][slot], NULL, __ATOMIC_SEQ_CST);
}

static void put(unsigned thread, size_t slot, void *block)
{
	free(__atomic_exchange_n(&held[thread][slot], block, __ATOMIC_SEQ_CST));
}

static void step(unsigned thread, unsigned *seed)
{
	size_t slot = (size_t)rand_r(seed) % SLOTS, size = some_size(seed, slot);
	void *block = take(thread, slot);

	if (block && rand_r(seed) % 4 == 0)
		put(thread, slot, need(realloc(block, size)));
	else if (block)
		free(block);
	else if (slot % 16 == 0)
		put(thread, slot, need(aligned_alloc(32ul << slot / 16 % 8, size)));
	else
		put(thread, slot, need(malloc(size)));
}

static void *busy(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg, seed = thread + 1;

	for (unsigned round = 0;; round++) {
		for (unsigned i = 0; i < 1000; i++)
			step(thread, &seed);
		/* Many of a size together: a cache gets full, and what it gives back goes on. */
		for (size_t i = 0; i < SLOTS; i += 3)
			free(take(thread, i));
		/* What one allocates others free. */
		for (size_t i = 0; i < SLOTS; i += 64)
			free(take((thread + round) % THREADS, i));
		if (round % 16 == 0)
			put(thread, 0, need(malloc(300000 + round % 7 * 4096)));
	}
	return NULL;
}

int main(void)
{
	static char buffer[1 << 16];
	struct steady **end = &steady;
	pthread_t thread;
	unsigned seed = 1;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t i = 0; i < STEADY; i++) {
		*end = need(malloc(some_size(&seed, i)));
		printf("block %lx\n", (unsigned long)*end);
		end = &(*end)->next;
	}
	*end = NULL;
	puts("ready");
	fflush(stdout);
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, busy, (void *)i))
			return 1;
	}
	while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
		;
	_exit(0);
}
