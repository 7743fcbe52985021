// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the walkers of jemalloc and tcmalloc say of real processes that nobody has watched, against the
 * processes' own books: each block once and nothing else. MALLOC_LIBRARY=/path/of.so runs it with
 * another build of either (by hand: Debian 11's jemalloc 5.2.1).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <time.h>

#include "tests/unit/heap/real_process.h"
#include "user/heap/dead_memory.h"

#define THREADS 4
#define BLOCKS	80000

/* ---- the process -------------------------------------------------------------------------- */

struct worker {
	struct real_books *books;
	size_t number, first, end; /* its part of the books */
	unsigned seed;
};

static uint64_t worker_size(unsigned *seed)
{
	unsigned kind = (unsigned)rand_r(seed) % 1000, any = (unsigned)rand_r(seed);

	if (kind < 900)
		return any % 1024;
	return kind < 990 ? any % 16384 : any % (200u << 10);
}

static void worker_allocate(struct worker *worker, size_t i)
{
	uint64_t asked = worker_size(&worker->seed);
	char *block = i % 50 ? malloc(asked) : aligned_alloc(i % 100 ? 64 : 4096, asked);

	if (!block)
		abort();
	memset(block, (int)i, asked);
	worker->books->blocks[i] = (struct real_block){(uint64_t)block, asked};
}

static void worker_free(struct worker *worker, size_t i)
{
	free((void *)worker->books->blocks[i].address);
	worker->books->blocks[i].address = 0;
}

/* Most of it twice over, so that what is in use lies between what was. */
static void worker_work(struct worker *worker)
{
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = worker->first; i < worker->end; i++) {
			if (!worker->books->blocks[i].address)
				worker_allocate(worker, i);
			if (rand_r(&worker->seed) % 3 == 0)
				worker_free(worker,
					    worker->first + (size_t)rand_r(&worker->seed) %
								    (i - worker->first + 1));
		}
	}
}

static pthread_barrier_t barrier;

static void *worker_run(void *arg)
{
	struct worker *worker = arg;

	free(malloc(10)); /* it has a cache from now on */
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	worker_work(worker);
	pthread_barrier_wait(&barrier);
	/* What others have allocated. */
	for (size_t i = 0; i < worker->books->count; i++) {
		if (i % (7 * THREADS) == worker->number && worker->books->blocks[i].address)
			worker_free(worker, i);
	}
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

/* Turn 1: the threads are there. Turn 2: they have worked. */
static int process_main(void)
{
	struct real_books *books = real_books_open(3);
	static struct worker workers[THREADS];
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.books = books,
			.number = i,
			.first = books->count / THREADS * i,
			.end = books->count / THREADS * (i + 1),
			.seed = (unsigned)i,
		};
		if (pthread_create(&thread, NULL, worker_run, &workers[i]))
			return 1;
	}
	real_next_turn(books);
	pthread_barrier_wait(&barrier);
	books->done = 1;
	real_next_turn(books);
	for (unsigned i = 0; i < 3; i++)
		pthread_barrier_wait(&barrier);
	books->done = 2;
	for (;;)
		pause();
}

/* ---- the test ----------------------------------------------------------------------------- */

static int block_order(const void *a, const void *b)
{
	const struct real_block *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Its blocks by their addresses; what has been freed is first. */
static size_t sort_books(struct real_books *books)
{
	size_t freed = 0;

	qsort(books->blocks, books->count, sizeof(*books->blocks), block_order);
	while (freed < books->count && !books->blocks[freed].address)
		freed++;
	return freed;
}

static bool is_old(const struct heap_image *image, uint64_t address)
{
	size_t i = heap_image_block(image, address);

	return i < image->block_count && heap_block_address(image, i) == address &&
	       heap_block_at(image, i).stack == HEAP_OLD;
}

/* Blocks of its own that jemalloc 5.2 makes a thread when this first looks for an arena. */
static size_t own_blocks(void)
{
	return getenv("MALLOC_LIBRARY") ? THREADS : 0;
}

/* Each live block of the books, and what had been there `before`; no other, and none twice. */
static void compare(const struct heap_image *image, const struct heap_image *before,
		    const struct real_books *books, size_t freed)
{
	size_t next = freed, others = 0, own = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < image->block_count; i++) {
		const struct heap_block old = heap_block_at(image, i);

		assert_true(end <= old.address);
		end = old.address + old.size;
		if (next < books->count && books->blocks[next].address == old.address) {
			assert_true(old.size >= books->blocks[next].asked);
			next++;
			continue;
		}
		assert_true(next == books->count || books->blocks[next].address > old.address);
		own += !is_old(before, old.address);
		others++;
	}
	assert_int_equal(next, books->count);
	assert_true(others < 200);
	assert_true(own <= own_blocks());
}

static struct heap_image *look(struct real_process *process, struct inventory *inventory)
{
	struct heap_image *image = real_look(process);

	assert_non_null(image);
	image->inventory = inventory;
	heap_image_finish(image);
	assert_int_equal(dead_memory_find(image), 0);
	assert_int_equal(heap_image_take_old(image), 0);
	return image;
}

static const struct inspected_allocator *named(const struct inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->count; i++) {
		if (!strcmp(inventory->allocators[i].shown.name, name))
			return &inventory->allocators[i].shown;
	}
	return NULL;
}

/* All that is counted lies in memory that is there, and little of that is not counted. */
static void sums(const struct heap_image *image, const struct inventory *inventory)
{
	uint64_t counted = 0, there = 0;

	for (size_t i = 0; i < inventory->count; i++) {
		for (size_t part = 0; part < INVENTORY_PARTS; part++)
			counted += inventory->allocators[i].resident[part];
	}
	for (size_t i = 0; i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		there += r->mapping && *r->mapping->path != '/' ? r->size : 0;
	}
	print_message("counted %lu of %lu\n", counted, there);
	assert_true(counted <= there);
	assert_true(counted > there - there / 20);
}

/* The library may not be there: then the process has run without it. */
static bool has_library(const struct heap_image *image, const char *library)
{
	for (size_t i = 0; i < maps_count(image->memory->maps); i++) {
		if (strstr(maps_at(image->memory->maps, i)->path, library))
			return true;
	}
	return false;
}

/* Blocks that we know are none from before, and all that the allocator gave for them is theirs. */
static void known(struct real_process *process, const struct heap_image *before, size_t freed)
{
	struct heap_image *image = real_look(process);
	size_t live = process->books->count - freed, own = 0;

	assert_non_null(image);
	image->entered = calloc(live, sizeof(*image->entered));
	assert_non_null(image->entered);
	for (size_t i = 0; i < live; i++)
		image->entered[image->block_count++] = (struct heap_block){
			.address = process->books->blocks[freed + i].address,
			.size = process->books->blocks[freed + i].asked,
		};
	heap_image_finish(image);
	assert_int_equal(dead_memory_find(image), 0);
	for (size_t i = 0; i < live; i++)
		assert_true(heap_block_room_end(image, i) > heap_block_address(image, i));
	assert_int_equal(heap_image_take_old(image), 0);
	for (size_t i = 0; i < image->block_count; i++)
		own += heap_block_at(image, i).stack == HEAP_OLD &&
		       !is_old(before, heap_block_address(image, i));
	assert_true(own <= own_blocks());
	assert_true(image->block_count >= live);
	heap_image_free(image);
}

static void walk(const char *library, const char *name)
{
	struct inventory first = {0}, second = {0};
	const struct inspected_allocator *shown;
	struct heap_image *before, *after;
	struct real_process process;
	size_t freed;

	process = real_process_start(getenv("MALLOC_LIBRARY") ?: library, "process", BLOCKS);
	assert_true(real_process_turn(&process, 1));
	before = look(&process, &first);
	if (!has_library(before, library)) {
		real_process_end(&process);
		heap_image_free(before);
		print_message("skipped: no %s here\n", library);
		skip();
	}
	assert_true(real_process_turn(&process, 2));
	after = look(&process, &second);
	freed = sort_books(process.books);
	shown = named(&second, name);
	assert_non_null(shown);
	print_message(
		"%s %s, %lu arenas: %lu blocks of %lu bytes in use, %lu free (%lu cached), %lu "
		"books, %lu unbelieved (%s)\n",
		shown->name, shown->version, shown->arenas, shown->in_use.count,
		shown->in_use.bytes, shown->free_bytes, shown->cached_bytes, shown->books_bytes,
		shown->unbelieved_bytes, shown->why);
	assert_int_equal(shown->in_use.count, after->block_count);
	assert_int_equal(shown->unbelieved_bytes, 0);
	assert_string_equal(shown->why, "");
	assert_true(shown->cached_bytes);
	compare(after, before, process.books, freed);
	sums(after, &second);
	known(&process, before, freed);
	real_process_end(&process);
	heap_image_free(before);
	heap_image_free(after);
}

static void jemalloc(void **state)
{
	(void)state;
	walk("libjemalloc.so.2", "jemalloc");
}

static void tcmalloc(void **state)
{
	(void)state;
	walk("libtcmalloc_minimal.so.4", "tcmalloc (gperftools)");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jemalloc),
		cmocka_unit_test(tcmalloc),
	};

	if (argc == 2 && !strcmp(argv[1], "process"))
		return process_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
