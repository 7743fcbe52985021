// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that keeps books of all its blocks, the C library's own too: it has malloc & co. of its own, which call
 * glibc's. It prints what test_glibc_books.c compares (test_glibc_books.c builds it), then "ready", and stands still
 * until its standard input ends. One word says what it does: "mixed", "gaps", "pieces", "busy".
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

#define BOOK_SLOTS (1u << 21)
#define GONE	   ((void *)1)

static void **books; /* a hash table of addresses, in memory of its own */
static atomic_flag books_lock = ATOMIC_FLAG_INIT;
static bool unbooked; /* nobody wants them */

static void **books_find(const void *block)
{
	size_t i = (uintptr_t)block / 16 * 0x9e3779b97f4a7c15ull >> 43;

	while (books[i % BOOK_SLOTS] && books[i % BOOK_SLOTS] != block)
		i++;
	return &books[i % BOOK_SLOTS];
}

static void *book(void *block, bool in)
{
	if (!block || unbooked)
		return block;
	while (atomic_flag_test_and_set(&books_lock))
		;
	if (!books)
		books = mmap(NULL, BOOK_SLOTS * sizeof(*books), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*books_find(block) = in ? block : GONE;
	atomic_flag_clear(&books_lock);
	return block;
}

void *malloc(size_t size)
{
	return book(__libc_malloc(size), true);
}

void *calloc(size_t count, size_t size)
{
	return book(__libc_calloc(count, size), true);
}

void free(void *block)
{
	book(block, false);
	__libc_free(block);
}

void *realloc(void *block, size_t size)
{
	book(block, false);
	return book(__libc_realloc(block, size), true);
}

void *memalign(size_t align, size_t size)
{
	return book(__libc_memalign(align, size), true);
}

/* ---- what it allocates -------------------------------------------------------------------- */

#define SLOTS	4096
#define THREADS 8

static void *volatile held[THREADS + 1][SLOTS];
static atomic_int waiting;
static atomic_bool stop;

static size_t some_size(unsigned *seed, size_t slot)
{
	static const size_t most[] = {100, 1100, 9000, 70000};

	return (size_t)rand_r(seed) % most[slot % 4];
}

/* Threads may take from each other's slots: what is in a slot is one's own once it has been taken out. */
static void *take(unsigned thread, size_t slot)
{
	return __atomic_exchange_n(&held[thread][slot], NULL, __ATOMIC_SEQ_CST);
}

static void put(unsigned thread, size_t slot, void *block)
{
	free(__atomic_exchange_n(&held[thread][slot], block, __ATOMIC_SEQ_CST));
}

static void churn(unsigned thread, unsigned rounds)
{
	unsigned seed = thread + 1;

	for (unsigned i = 0; i < rounds; i++) {
		size_t slot = (size_t)rand_r(&seed) % SLOTS, size = some_size(&seed, slot);
		void *block = take(thread, slot);

		if (block && rand_r(&seed) % 4 == 0)
			put(thread, slot, realloc(block, size + 1));
		else if (block)
			free(block);
		else if (slot % 16 == 0)
			put(thread, slot, memalign(32ul << slot / 16 % 8, size));
		else
			put(thread, slot, malloc(size));
	}
	/* Many of a size, freed together: the cache gets full, and the rest goes to fast bins or is merged. */
	for (size_t i = 0; i < SLOTS; i += 3)
		free(take(thread, i));
}

/* More than a heap of an arena has room for, of which no more than the headers is touched. */
static void fill_heaps(unsigned thread)
{
	for (size_t i = 1; i < SLOTS; i += 4) {
		free(held[thread][i]);
		held[thread][i] = malloc(100000);
	}
}

static void *worker(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg;

	churn(thread, 40000);
	if (thread == 2)
		fill_heaps(thread);
	waiting++;
	for (;;)
		pause();
	return NULL;
}

static void *short_lived(void *arg)
{
	free(malloc(10));
	return arg;
}

static void *busy(void *arg)
{
	for (unsigned thread = (unsigned)(uintptr_t)arg, round = 0; !stop; round++) {
		churn(thread, 1000);
		/* What one allocates others free. */
		for (size_t i = 0; i < SLOTS; i += 64)
			free(take(thread % 4 + 1, i));
		if (round % 16 == 0) {
			put(thread, 0, malloc(300000 + round % 7 * 4096));
		}
	}
	return NULL;
}

static void map_blocks(void)
{
	static const size_t aligns[] = {32, 64, 512, 4096, 8192, 65536, 2 << 20};

	for (size_t i = 0; i < 40; i++)
		held[0][4 * i] = malloc(200000 + i * 5000);
	for (size_t i = 0; i < 7; i++)
		held[0][4 * i + 2] = memalign(aligns[i], 300000);
	free(held[0][40]);
	held[0][40] = NULL;
	held[0][44] = realloc(held[0][44], 900000);
	held[0][10] = realloc(held[0][10], 700000);
}

/* The program takes of sbrk() itself, and malloc goes on behind it. */
static void leave_gaps(void)
{
	for (unsigned i = 0; i < 3; i++) {
		char *own = sbrk(123457);

		memset(own, 0x31, 123457);
		for (size_t k = 0; k < 30; k++)
			held[0][1000 + i * 30 + k] = malloc(50000);
	}
}

/* sbrk() fails from now on. */
static void block_brk(void)
{
	char *end = (char *)(((uintptr_t)sbrk(0) + 4095) & ~4095ul);

	if (mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
	    end)
		_exit(3);
	for (size_t k = 0; k < 60; k++)
		held[0][1000 + k] = malloc(60000);
}

static void print_books(void)
{
	struct mallinfo2 info = mallinfo2();

	for (size_t i = 0; books && i < BOOK_SLOTS; i++) {
		if (books[i] && books[i] != GONE)
			printf("block %lx %zu\n", (unsigned long)books[i],
			       malloc_usable_size(books[i]));
	}
	printf("info %zu %zu %zu %zu\n", info.arena, info.fordblks, info.hblks, info.hblkhd);
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	const char *what = argc > 1 ? argv[1] : "";
	bool is_busy = !strcmp(what, "busy");
	pthread_t thread;

	unbooked = is_busy;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, short_lived, NULL);
		pthread_join(thread, NULL);
	}
	for (uintptr_t i = 1; i <= (is_busy ? 4 : THREADS); i++)
		pthread_create(&thread, NULL, is_busy ? busy : worker, (void *)i);
	while (!is_busy && waiting < THREADS)
		usleep(1000);
	if (!is_busy)
		churn(0, 40000);
	if (!strcmp(what, "gaps"))
		leave_gaps();
	if (!strcmp(what, "pieces"))
		block_brk();
	map_blocks();
	print_books();
	while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
		;
	stop = true;
	_exit(0);
}
