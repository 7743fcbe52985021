// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that allocates and frees in every way that its allocator may keep books of, and has its
 * own books of what is in use: blocks_side COUNT. It waits three times: when its threads are there and
 * nothing has been allocated; when about COUNT blocks are; and when half of them have been freed, by
 * others than who has allocated them, and threads with blocks have ended. The books are no block
 * of the allocator.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/heap/blocks_side.h"

#define THREADS	 4 /* two of them end */
#define BOOK_MAX (16u << 20)
#define KIB	 1024ul
#define MIB	 (1024 * KIB)

static struct side_block *book; /* of all; those with address 0 have been freed */
static size_t book_count;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begin[THREADS], done[THREADS];
static size_t wanted;

static void give_up(const char *what)
{
	dprintf(STDERR_FILENO, "blocks_side: %s\n", what);
	_exit(1);
}

static unsigned long random_below(uint64_t *state, unsigned long limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % limit;
}

static void enter(void *block, size_t size, size_t align)
{
	if (!block)
		give_up("out of memory");
	memset(block, 0x11, size < 256 ? size : 256);
	pthread_mutex_lock(&book_lock);
	if (book_count == BOOK_MAX)
		give_up("too many blocks");
	book[book_count++] =
		(struct side_block){(uintptr_t)block, size, malloc_usable_size(block), align};
	pthread_mutex_unlock(&book_lock);
}

static void allocate(size_t size)
{
	enter(malloc(size), size, 0);
}

static void allocate_aligned(size_t align, size_t size)
{
	void *block = NULL;

	if (posix_memalign(&block, align, size))
		give_up("no aligned block");
	enter(block, size, align);
}

/* As large as programs mostly have them, and now and then larger. */
static size_t some_size(uint64_t *state)
{
	switch (random_below(state, 64)) {
	case 0:
		return random_below(state, 128 * KIB);
	case 1:
	case 2:
		return random_below(state, 8 * KIB);
	case 3:
		return 0;
	default:
		return random_below(state, 300);
	}
}

/* Frees one in `of`, from the place on. */
static void free_some(size_t from, size_t step, unsigned of, uint64_t *state)
{
	for (size_t i = from; i < book_count; i += step) {
		if (book[i].address && !random_below(state, of)) {
			free((void *)book[i].address); /* NOLINT: as the book has it */
			book[i].address = 0;
		}
	}
}

static void resize_some(size_t count, uint64_t *state)
{
	for (size_t i = 0; i < count && book_count; i++) {
		struct side_block *b = &book[random_below(state, book_count)];
		size_t size = 1 + some_size(state);
		void *block;

		if (!b->address || b->align)
			continue;
		block = realloc((void *)b->address, size); /* NOLINT: as the book has it */
		if (!block)
			give_up("out of memory");
		*b = (struct side_block){(uintptr_t)block, size, malloc_usable_size(block), 0};
	}
}

static void *worker(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg;
	uint64_t state = 88172645463325252ull + me;

	sem_wait(&begin[me]);
	for (size_t i = 0; i < wanted / (2 * THREADS); i++)
		allocate(some_size(&state));
	sem_post(&done[me]);
	sem_wait(&begin[me]);
	/* What others have allocated, more than one in places next to each other. */
	free_some(me, THREADS, 2, &state);
	sem_post(&done[me]);
	if (me < THREADS / 2)
		return NULL;
	for (;;)
		pause();
}

static void all_workers(void)
{
	/* One after the other: they free of the same book. */
	for (size_t i = 0; i < THREADS; i++) {
		sem_post(&begin[i]);
		while (sem_wait(&done[i]))
			;
	}
}

static void write_all(const void *data, size_t size)
{
	while (size) {
		ssize_t n = write(STDOUT_FILENO, data, size);

		if (n <= 0)
			_exit(1);
		data = (const char *)data + n;
		size -= (size_t)n;
	}
}

static void tell_and_wait(void)
{
	uint64_t count = 0;
	char byte;

	for (size_t i = 0; i < book_count; i++)
		count += book[i].address != 0;
	write_all(&count, sizeof(count));
	for (size_t i = 0; i < book_count; i++) {
		if (book[i].address)
			write_all(&book[i], sizeof(book[i]));
	}
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t state = 0x9e3779b97f4a7c15ull;
	pthread_t threads[THREADS];

	wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	book = mmap(NULL, BOOK_MAX * sizeof(*book), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (book == MAP_FAILED)
		give_up("no memory for the books");
	for (size_t i = 0; i < THREADS; i++) {
		sem_init(&begin[i], 0, 0);
		sem_init(&done[i], 0, 0);
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			give_up("no thread");
	}
	tell_and_wait();

	for (size_t i = 0; i < wanted / 2; i++)
		allocate(some_size(&state));
	for (size_t align = 16; align <= 64 * MIB; align *= 2) {
		allocate_aligned(align, 100);
		allocate_aligned(align, 3000);
		allocate_aligned(align, align + 24);
	}
	for (size_t size = 64 * KIB; size <= 96 * MIB; size = size * 3 / 2)
		allocate(size);
	all_workers();
	resize_some(wanted / 8, &state);
	tell_and_wait();

	all_workers();
	for (size_t i = 0; i < THREADS / 2; i++)
		pthread_join(threads[i], NULL);
	tell_and_wait();
	return 0;
}
